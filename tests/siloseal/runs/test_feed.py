"""What a deployed process says: into its audit log first, then as a line for a person or for a program."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from siloseal.federation.errors import DataError
from siloseal.federation.records.audit import AuditLog, entries, verify_audit
from siloseal.runs.feed import Feed

DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def feed(path: Path) -> Iterator[Feed]:
    with Feed(AuditLog(path, who="north"), json_lines=True, quiet=False) as feed:
        yield feed


def told(path: Path, capsys: pytest.CaptureFixture[str], event: str, *, quiet: bool = False, **facts: object) -> str:
    """What a person is shown, without the time of day."""
    with Feed(AuditLog(path, who="north"), json_lines=False, quiet=quiet) as feed:
        feed.show(event, **facts)  # type: ignore[arg-type]
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err[9:]


def test_a_program_reads_one_json_object_a_line_from_standard_output(
    feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    feed.record("answers", number=3, reply=DIGEST, epsilon=None)
    feed.show("waiting", reason="a\nb", seconds=0.5)
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == [
        {"event": "answers", "number": 3, "reply": DIGEST, "epsilon": None},
        {"event": "waiting", "reason": "a\nb", "seconds": 0.5},
    ]
    assert captured.err == ""


def test_what_another_side_chose_does_not_command_the_terminal(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = told(path, capsys, "refused", error="\x1b[2J\n12:00:00 finished", silos=["a\nb"])
    assert line == "refused: error= [2J 12:00:00 finished, silos=a b\n"


def test_whoever_wants_errors_only_is_told_that_nothing_goes_on(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(path, capsys, "waiting", quiet=True, reason="nobody is there") == ""
    assert told(path, capsys, "cannot_write", quiet=True, reason="full") == "cannot write: reason=full\n"


def test_what_is_recorded_is_in_the_log_and_what_is_shown_only_is_not(feed: Feed, path: Path) -> None:
    feed.record("takes_part", run=DIGEST)
    feed.show("waiting", seconds=1.0)
    (entry,) = entries(path)
    assert (entry.who, entry.event, entry.fields) == ("north", "takes_part", {"run": DIGEST})


def test_what_the_log_refuses_is_not_shown_either(feed: Feed, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="never data, weights or keys"):
        feed.record("answers", reply="x" * 501)
    assert capsys.readouterr().out == ""
    assert verify_audit(path).lines == 0


def test_a_person_reads_words_on_standard_error_without_digests_and_what_is_not_known(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(path, capsys, "takes_part", run=DIGEST, both=[DIGEST, DIGEST], epsilon=None, silos=["north", "east"])
    assert said == "takes part: silos=north east\n"
    assert told(path, capsys, "training", done=50, loss=0.123456) == "training: done=50, loss=0.1235\n"
    assert told(path, capsys, "left", words="x" * 63, list=[]) == f"left: words={'x' * 63}, list=\n"
    assert told(path, capsys, "serves", run=DIGEST) == "serves\n"


def test_who_wants_quiet_is_shown_nothing_and_the_log_has_it_all(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(path, capsys, "waiting", quiet=True) == ""
    with Feed(AuditLog(path, who="north"), json_lines=False, quiet=True) as feed:
        feed.record("stage", stage="phase_1")
    assert capsys.readouterr() == ("", "")
    assert verify_audit(path).lines == 1


def test_lines_of_several_threads_do_not_mix(feed: Feed, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def speak(name: str) -> None:
        for number in range(20):
            feed.record("accepts", silo=name, number=number, words="x" * 400)

    threads = [threading.Thread(target=speak, args=(name,)) for name in ("north", "east", "south")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for name in ("north", "east", "south"):
        assert [line["number"] for line in lines if line["silo"] == name] == list(range(20))
    assert verify_audit(path).lines == 60


def test_the_log_is_free_for_another_process_when_the_feed_ends(path: Path) -> None:
    with Feed(AuditLog(path, who="north"), json_lines=True, quiet=True):
        pass
    AuditLog(path, who="north").close()
