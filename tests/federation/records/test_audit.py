"""The audit log: no line changes, goes or moves unnoticed, and no crash or full disk breaks it."""

import hashlib
import json
import re
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.errors import AuditDamaged, DataError, RunError
from siloseal.federation.records.audit import START, AuditLog, Verified, entries, head_path, verify_audit
from siloseal.federation.records.chained_file import encode_line, link

LINES = 6
AN_HOUR_AHEAD = datetime(2026, 3, 4, 6, 6, 7, 89_999, tzinfo=timezone(timedelta(hours=1)))


def write_log(path: Path, lines: int = LINES) -> list[bytes]:
    with AuditLog(path, who="north", clock=lambda: AN_HOUR_AHEAD) as log:
        for number in range(lines):
            log.record("round_closed", round=number, epsilon=0.5, silos=["north", "süd"], first=number == 0, error=None)
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def refused(path: Path, lines: list[bytes]) -> str:
    """What is said about these lines, by whoever verifies them and by the log when it is opened again."""
    path.write_bytes(b"".join(lines))
    with pytest.raises(AuditDamaged) as verified:
        verify_audit(path)
    with pytest.raises(AuditDamaged) as opened:
        AuditLog(path, who="north")
    assert str(opened.value) == str(verified.value)
    assert path.read_bytes() == b"".join(lines)
    return str(verified.value)


def test_a_line_says_who_what_and_when_and_its_hash_can_be_computed_by_hand(path: Path) -> None:
    chain = START
    for number, line in enumerate(write_log(path), start=1):
        fields = json.loads(line)
        assert list(fields) == ["n", "time", "who", "event", "round", "epsilon", "silos", "first", "error", "chain"]
        assert (fields["n"], fields["time"]) == (number, "2026-03-04T05:06:07.089Z")
        assert (fields["who"], fields["event"], fields["silos"]) == ("north", "round_closed", ["north", "süd"])
        without_chain = line[: line.index(b', "chain"')] + b"}"
        chain = hashlib.sha256(chain.encode() + without_chain).hexdigest()
        assert fields["chain"] == chain
    size, time = path.stat().st_size, "2026-03-04T05:06:07.089Z"
    assert verify_audit(path) == Verified(LINES, time, time, chain, size, in_head=True, torn=0)
    assert json.loads(head_path(path).read_text()) == {"lines": LINES, "chain": chain}


def test_the_clock_is_that_of_the_machine_in_utc(path: Path) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    with AuditLog(path, who="north") as log:
        log.record("started")
    (entry,) = entries(path)
    assert before <= datetime.fromisoformat(entry.time) <= datetime.now(UTC)


def test_any_altered_byte_is_found(path: Path) -> None:
    content = b"".join(write_log(path, 4))
    for position in range(len(content)):
        altered = bytearray(content)
        altered[position] ^= 1
        path.write_bytes(altered)
        with pytest.raises(AuditDamaged):
            verify_audit(path)
    path.write_bytes(content)
    assert verify_audit(path).lines == 4


@pytest.mark.parametrize("at", range(LINES))
class TestEveryLine:
    def test_altered_is_found_and_named(self, path: Path, at: int) -> None:
        lines = write_log(path)
        lines[at] = lines[at].replace(b'"epsilon": 0.5', b'"epsilon": 0.4')
        assert f"line {at + 1}:" in refused(path, lines)

    def test_altered_by_a_field_that_is_there_twice_is_found(self, path: Path, at: int) -> None:
        lines = write_log(path)
        lines[at] = lines[at].replace(b'"epsilon": 0.5', b'"epsilon": 0.4, "epsilon": 0.5')
        assert f"line {at + 1}:" in refused(path, lines)

    def test_removed_is_found_and_the_missing_number_is_named(self, path: Path, at: int) -> None:
        lines = write_log(path)
        del lines[at]
        found = rf"{LINES - 1} lines, .* {LINES}: .* 1 " if at == LINES - 1 else rf"line {at + 1}: .* line {at + 1} "
        assert re.search(found, refused(path, lines))

    def test_swapped_with_its_neighbour_is_found(self, path: Path, at: int) -> None:
        lines = write_log(path)
        first = min(at, LINES - 2)
        lines[first], lines[first + 1] = lines[first + 1], lines[first]
        assert re.search(f"line {first + 1}: .* {first + 2} .* {first + 1} ", refused(path, lines))

    def test_repeated_is_found(self, path: Path, at: int) -> None:
        lines = write_log(path)
        lines.insert(at, lines[at])
        assert re.search(f"line {at + 2}: .* {at + 1} .* {at + 2} ", refused(path, lines))

    def test_replaced_by_what_is_no_line_is_found(self, path: Path, at: int) -> None:
        lines = write_log(path)
        for junk in (b"\n", b"junk\n", b"[1]\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n"):
            assert f"line {at + 1}:" in refused(path, [*lines[:at], junk, *lines[at + 1 :]])
        assert f"line {at + 1}:" in refused(path, [*lines[:at], b"{}\n", *lines[at + 1 :]])


def test_several_removed_lines_are_counted(path: Path) -> None:
    lines = write_log(path)
    assert re.search("line 2: .* 5 .* 2 to 4 ", refused(path, lines[:1] + lines[4:]))
    assert re.search("4 lines, .* 6: .* 2 ", refused(path, lines[:-2]))
    assert " 0 lines" in refused(path, [])


def test_a_log_that_is_gone_or_has_lost_its_head_is_noticed(path: Path) -> None:
    lines = write_log(path)
    path.unlink()
    with pytest.raises(AuditDamaged, match=str(head_path(path))):
        verify_audit(path)
    head_path(path).unlink()
    with pytest.raises(RunError, match=str(path)):
        verify_audit(path)
    assert refused(path, lines).startswith(str(head_path(path)))


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"lines": 5}, "audit.jsonl, line 5:"),
        ({"lines": 0}, "audit.jsonl, line 0:"),
        ({"chain": "0" * 64}, "audit.jsonl, line 6:"),
        ({"lines": 7}, "audit.jsonl.head counts 7"),
        ({"lines": -1}, "audit.jsonl.head:"),
        ({"lines": "6"}, "audit.jsonl.head:"),
        ({"chain": None}, "audit.jsonl.head:"),
    ],
)
def test_an_altered_head_is_noticed(path: Path, head: dict[str, Any], words: str) -> None:
    lines = write_log(path)
    head_path(path).write_text(json.dumps(json.loads(head_path(path).read_text()) | head))
    assert words in refused(path, lines)
    head_path(path).write_text("junk")
    assert "audit.jsonl.head:" in refused(path, lines)


def test_a_crash_between_line_and_head_is_no_damage_but_two_lines_more_are(path: Path) -> None:
    write_log(path, 4)
    older = head_path(path).read_bytes()
    lines = write_log(path, 1)
    head_path(path).write_bytes(older)
    found = verify_audit(path)
    assert (found.lines, found.in_head) == (5, False)
    AuditLog(path, who="north").close()
    assert json.loads(head_path(path).read_text())["lines"] == 5
    assert verify_audit(path).in_head
    lines = write_log(path, 1)
    head_path(path).write_bytes(older)
    assert " 6 lines" in refused(path, lines)


def test_one_line_that_another_hand_added_to_the_log_alone_is_told_from_the_others(path: Path) -> None:
    lines = write_log(path)
    assert verify_audit(path).in_head
    fields = {**json.loads(lines[-1]), "n": LINES + 1, "epsilon": 0.0}
    chain = link(fields.pop("chain"), fields)
    path.write_bytes(b"".join([*lines, encode_line({**fields, "chain": chain})]))
    found = verify_audit(path)
    assert (found.lines, found.last_chain, found.in_head) == (LINES + 1, chain, False)


def test_a_log_that_is_opened_again_goes_on(path: Path) -> None:
    write_log(path, 2)
    write_log(path, 3)
    assert [entry.end.lines for entry in entries(path)] == [1, 2, 3, 4, 5]
    assert verify_audit(path).lines == 5


def test_a_torn_last_line_is_ignored_and_then_cut_off(path: Path) -> None:
    lines = write_log(path, 3)
    path.write_bytes(b"".join(lines) + lines[2][:-1])
    assert verify_audit(path).lines == 3
    assert len(write_log(path, 1)) == 4
    assert verify_audit(path).lines == 4


def test_a_log_is_open_once_at_a_time_for_its_owner_alone(path: Path) -> None:
    with AuditLog(path, who="north") as log:
        with pytest.raises(RunError, match=str(path)):
            AuditLog(path, who="north")
        assert verify_audit(path) == Verified(0, None, None, START, 0, in_head=True, torn=0)
        log.record("started")
    assert [file.stat().st_mode & 0o777 for file in (path, head_path(path))] == [0o600, 0o600]


def test_threads_may_record_while_others_verify(path: Path) -> None:
    with AuditLog(path, who="north") as log:

        def work(name: int) -> None:
            for number in range(10):
                log.record("tick", thread=name, number=number)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert verify_audit(path).lines <= 80
        for thread in threads:
            thread.join()
    assert verify_audit(path).lines == 80
    for name in range(8):
        assert [entry.fields["number"] for entry in entries(path) if entry.fields["thread"] == name] == list(range(10))


def test_without_room_for_the_head_the_log_never_runs_two_lines_ahead(path: Path) -> None:
    in_the_way = path.with_name(f".{path.name}.head.part")
    with AuditLog(path, who="north") as log:
        log.record("before")
        in_the_way.mkdir()
        for _ in range(3):
            with pytest.raises(OSError, match="directory"):
                log.record("without_head")
        assert verify_audit(path).lines == 2
        in_the_way.rmdir()
        log.record("after")
    assert [entry.event for entry in entries(path)] == ["before", "without_head", "after"]
    assert verify_audit(path).lines == 3


@pytest.mark.parametrize(
    "value",
    [b"key", bytearray(1), [1.0, 2.0], ("a",), {"a": 1}, {"a"}, ["a", b"b"], [["a"]], "s" * 501, ["s" * 501], ["s"] * 1001,
     float("nan"), float("inf"), 2**63, object()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_could_be_data_or_a_key_is_refused_and_never_shown(path: Path, value: Any) -> None:
    with AuditLog(path, who="north") as log:
        with pytest.raises(DataError, match=f"field secret .* {type(value).__name__}") as refusal:
            log.record("started", secret=value)
        assert repr(value) not in str(refusal.value)
        assert path.read_bytes() == b""
        log.record("s" * 500, silos=["s" * 500] * 3)


@pytest.mark.parametrize("name", ["n", "time", "who", "chain"])
def test_the_fields_of_the_log_itself_cannot_be_given(path: Path, name: str) -> None:
    with AuditLog(path, who="north") as log, pytest.raises(DataError, match=f"field {name} "):
        log.record("started", **{name: "mine"})
