"""Events as lines: every event comes back from its line, and the audit log's names and fields stay what they are."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from siloseal.federation.errors import DataError
from siloseal.federation.records.audit import LONGEST_LIST, AuditLog, entries, verify_audit
from siloseal.federation.run_events import aggregator, coordination, experimenter, silo
from siloseal.federation.run_events.aggregator import CallerTurnedAway, ReplyAccepted, RequestSent, Serving, StageBegan
from siloseal.federation.run_events.kinds import Audited, Internal, Shown
from siloseal.federation.run_events.lines import decode, encode, kinds_of_lines, record_in
from siloseal.federation.run_events.silo import JobAccepted, RequestReceived, TrainingProgressed
from siloseal.federation.run_events.stream import EventStream, PublishedBefore, RunEvent

DIGEST = "0123456789abcdef" * 4
SILOS = tuple(f"silo-{number}" for number in range(LONGEST_LIST + 1))
EXAMPLES: dict[object, object] = {
    str: "text", int: 7, float: 0.5, bool: True, tuple[str, ...]: ("north", "east"), str | None: None,
    float | None: 0.25, Mapping[str, float]: {"seen": 0.5},
}  # fmt: skip

AUDITED = {
    "serves": "address run job silos", "attends": "silo peer", "left": "silo", "turned_away": "peer error words",
    "stage": "stage", "asks": "number what silos requests request_bytes", "accepts": "number silo reply reply_bytes",
    "kept": "number silo reply reply_bytes", "refused": "number silo error", "goes_on_without": "number silos",
    "spent": "silo epsilon_at_most", "model": "stage path", "finished": "requests notes", "takes_part": "run offer",
    "refuses": "run offer words", "clocks_differ": "words", "not_needed": "number words",
    "answers": "number what answer request request_bytes reply reply_bytes epsilon",
    "leaves": "run epsilon delivered words",
}  # fmt: skip
"""Names and fields of format 1 of the audit log, which logs on disks have, and other programs read."""


def example(kind: Any) -> Any:
    """Some event of this kind."""
    return kind(**{field.name: EXAMPLES[field.type] for field in fields(kind)})


@pytest.mark.parametrize("kind", kinds_of_lines(), ids=lambda kind: kind.__name__)
def test_every_event_comes_back_from_its_line(kind: Any) -> None:
    event = example(kind)
    assert decode(encode(event)) == event


def test_the_audit_log_keeps_its_names_and_fields() -> None:
    audited = [kind for kind in kinds_of_lines() if issubclass(kind, Audited)]
    found = {kind.NAME: " ".join(field.name for field in fields(kind)) for kind in audited}  # type: ignore[arg-type]
    assert found == AUDITED
    assert len(audited) == len(AUDITED), "one event a name"


def test_every_event_of_the_package_is_in_the_union() -> None:
    defined = {
        value
        for module in (aggregator, coordination, silo, experimenter)
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Audited | Shown | Internal)
        and value.__module__ == module.__name__
    }
    assert len(defined) > 30
    assert defined < set(get_args(RunEvent))


def test_no_two_events_share_a_name() -> None:
    names = [kind.NAME for kind in kinds_of_lines()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("event", [Serving("host:1", "run", DIGEST, SILOS), RequestSent(3, "sum", SILOS, SILOS, 2)])
def test_more_silos_than_a_line_holds_are_recorded_as_a_number_and_a_digest(event: RunEvent, tmp_path: Path) -> None:
    with AuditLog(tmp_path / "audit.jsonl", who="aggregator") as log:
        record_in(log)(event)
    (entry,) = entries(tmp_path / "audit.jsonl")
    digest = hashlib.sha256("\n".join(SILOS).encode()).hexdigest()
    assert entry.fields["silos"] == ["1001 entries", f"SHA-256 {digest}"]


def test_metrics_of_a_training_are_fields_of_its_line() -> None:
    event = TrainingProgressed("north", "phase_1", 50, 100, {"generator_steps": 4.0})
    assert json.loads(encode(event)) == {
        "event": "training", "silo": "north", "phase": "phase_1", "done": 50, "steps": 100, "generator_steps": 4.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ['{"event": "stage", "sta', "a library prints this", "[]", '{"event": "rumour"}', '{"event": "stage"}', "7",
     '{"event": "stage", "stage": ["phase_1"]}', "[" * 100_000],
    ids=lambda line: line[:30],
)  # fmt: skip
def test_what_is_no_event_is_none(line: str) -> None:
    assert decode(line) is None


class TestTheAuditLog:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "audit.jsonl"

    @pytest.fixture
    def shown(self) -> list[RunEvent]:
        return []

    @pytest.fixture
    def stream(self, path: Path, shown: list[RunEvent]) -> Iterator[EventStream]:
        with AuditLog(path, who="north") as log:
            yield EventStream(record_in(log), shown.append)

    def test_has_what_is_audited_and_nothing_else(self, stream: EventStream, path: Path, shown: list[RunEvent]) -> None:
        for event in (JobAccepted(DIGEST, DIGEST), RequestReceived(1, "enrol", 5), PublishedBefore(StageBegan("x"))):
            stream.publish(event)
        (entry,) = entries(path)
        assert (entry.who, entry.event, entry.fields) == ("north", "takes_part", {"run": DIGEST, "offer": DIGEST})
        assert len(shown) == 3

    def test_takes_every_event_that_is_audited(self, stream: EventStream, path: Path) -> None:
        events = [example(kind) for kind in kinds_of_lines() if issubclass(kind, Audited)]
        for event in events:
            stream.publish(event)
        lines = [json.loads(json.dumps({"event": entry.event, **entry.fields})) for entry in entries(path)]
        assert lines == [json.loads(encode(event)) for event in events]

    def test_has_an_event_before_the_next_subscriber_hears_of_it(self, stream: EventStream, path: Path) -> None:
        lines = list[int]()
        stream.subscribe(lambda _: lines.append(verify_audit(path).lines))
        for number in range(3):
            stream.publish(ReplyAccepted(number, "north", DIGEST, 1))
        assert lines == [1, 2, 3]

    def test_refuses_what_nobody_is_shown_then(self, stream: EventStream, path: Path, shown: list[RunEvent]) -> None:
        with pytest.raises(DataError, match="field reply "):
            stream.publish(ReplyAccepted(1, "north", "x" * 501, 1))
        assert shown == []
        assert verify_audit(path).lines == 0

    def test_without_room_is_no_reason_to_hide_why_a_caller_was_turned_away(self, shown: list[RunEvent]) -> None:
        class Full:
            def record(self, event: str, **fields: object) -> None:
                raise OSError("no space left on device")

        stream = EventStream(record_in(Full()), shown.append)  # type: ignore[arg-type]
        turned_away = CallerTurnedAway("peer", "CannotWrite", "the aggregator cannot write")
        stream.publish(turned_away)
        with pytest.raises(OSError, match="no space"):
            stream.publish(ReplyAccepted(1, "north", DIGEST, 1))
        assert shown == [turned_away]
