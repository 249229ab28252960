"""Events as fields of a line, and back: in the audit log, and as JSON between a process and whoever started it."""

import hashlib
import json
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any, TypeGuard, get_args

from pydantic import TypeAdapter, ValidationError

from siloseal.federation.records.audit import LONGEST_LIST, AuditLog, Value
from siloseal.federation.run_events.aggregator import AggregatorEvent, CallerTurnedAway
from siloseal.federation.run_events.kinds import Audited, Shown
from siloseal.federation.run_events.silo import SiloEvent, TrainingProgressed
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent, Subscriber

Facts = dict[str, Value]


def facts_of(event: Audited | Shown) -> Facts:
    """The fields of an event's line, without its name."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}  # type: ignore[arg-type]
    if isinstance(event, TrainingProgressed):
        values |= values.pop("metrics")
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def shown(event: RunEvent) -> Audited | Shown | None:
    """The event that a line is written of; None for those that have none."""
    if isinstance(event, PublishedBefore):
        return shown(event.event)
    return event if isinstance(event, Audited | Shown) else None


def record_in(log: AuditLog) -> Subscriber:
    """A subscriber that writes an audit log. A line is on the disk when it returns, or an error is raised."""

    def record(event: RunEvent) -> None:
        if isinstance(event, CallerTurnedAway):
            with suppress(OSError):  # a full disk must not take the place of what is wrong
                log.record(event.NAME, **_shortened(facts_of(event)))
        elif isinstance(event, Audited):
            log.record(event.NAME, **_shortened(facts_of(event)))

    return record


def _shortened(facts: Facts) -> Facts:
    """The fields, where a list that is too long for the audit log is its length and a digest of its entries."""
    return {name: _digested(value) if _is_long(value) else value for name, value in facts.items()}


def _is_long(value: Value) -> TypeGuard[list[str]]:
    return isinstance(value, list) and len(value) > LONGEST_LIST


def _digested(texts: list[str]) -> Value:
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return [f"{len(texts)} entries", f"SHA-256 {digest}"]


def encode(event: Audited | Shown) -> str:
    """One JSON object, without the end of the line."""
    return json.dumps({"event": event.NAME, **facts_of(event)})


def decode(line: str) -> AggregatorEvent | SiloEvent | None:
    """The event of a line; None for half a line, of a process that was stopped, and for what a library prints."""
    try:
        match json.loads(line):
            case {"event": str(name), **facts} if name in _adapters():
                grouped = _grouped(name, {str(field): value for field, value in facts.items()})
                event: AggregatorEvent | SiloEvent = _adapters()[name].validate_python(grouped)
                return event
    except (ValueError, ValidationError, RecursionError):  # the last: brackets within brackets, thousands deep
        return None
    return None


def _grouped(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The metrics of a training, which its line has as fields of their own, in one mapping again."""
    if name != TrainingProgressed.NAME:
        return facts
    own = {field.name for field in fields(TrainingProgressed)}
    metrics = {name: value for name, value in facts.items() if name not in own}
    return {**{name: value for name, value in facts.items() if name in own}, "metrics": metrics}


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """The adapters by name, which no two events share."""
    return {kind.NAME: TypeAdapter(kind) for kind in kinds_of_lines()}


def kinds_of_lines() -> list[type[Audited] | type[Shown]]:
    """All events that become lines."""
    return [kind for kind in (*get_args(AggregatorEvent), *get_args(SiloEvent)) if _has_line(kind)]


def _has_line(kind: type) -> TypeGuard[type[Audited] | type[Shown]]:
    return issubclass(kind, Audited | Shown)
