"""`siloseal audit`: whether a log is unbroken, and what it says; and whether privacy is what the ledger books."""

import json
from pathlib import Path
from typing import Annotated

import typer

from siloseal.cli.audit_privacy import privacy
from siloseal.cli.options import Json
from siloseal.federation.errors import RunError
from siloseal.federation.records.audit import Entry, Value, entries, head_path, verify_audit

audit = typer.Typer(no_args_is_help=True, help="Check and read audit logs, and put a job's privacy to the test.")
audit.command()(privacy)

File = Annotated[Path, typer.Argument(help="An audit log; FILE.head lies beside it.", metavar="FILE")]
Event = Annotated[str | None, typer.Option(help="Only the lines of this event.", metavar="NAME")]


@audit.command()
def verify(file: File, as_json: Json = False) -> None:
    """Find any line that was altered, removed or reordered. It may be called while the log is being written."""
    found = verify_audit(file)
    if as_json:
        times = {"first_time": found.first_time, "last_time": found.last_time}
        ends = {"head": found.last_chain, "last_line_in_head": found.in_head, "torn_bytes": found.torn}
        print(json.dumps({"file": str(file), "lines": found.lines, **times, **ends}, indent=2))
    elif not found.lines:
        print(f"{file}: no lines yet")
    else:
        lines = "1 line" if found.lines == 1 else f"{found.lines} lines"
        print(f"{file}: {lines} from {found.first_time} to {found.last_time}, unbroken, head {found.last_chain}")
        if found.torn:
            print(f"{found.torn} bytes behind the last line are no line: a crash tore it, or another hand added them")
        if not found.in_head:
            print(
                f"the last line is not in {head_path(file)}: a crash came between, or another hand added it; while the "
                "log is in use, ask again"
            )


@audit.command()
def show(file: File, event: Event = None) -> None:
    """Print the lines, after the log was found unbroken: time, who, event, fields."""
    verify_audit(file)
    found = set[str]()
    for entry in entries(file):
        found.add(entry.event)
        if event in (None, entry.event):
            print(_readable(entry))
    if event is not None and event not in found:
        known = f"its events are {', '.join(map(_text, sorted(found)))}" if found else "it has no lines yet"
        raise RunError(f"{file} has no line of the event {event!r}; {known}")


def _readable(entry: Entry) -> str:
    fields = (f"{_text(name)}={_text(value)}" for name, value in entry.fields.items())
    return "  ".join((entry.time, _text(entry.who), _text(entry.event), " ".join(fields))).rstrip()


def _text(value: Value) -> str:
    """A value as text: plain words as they are, all else as JSON, because a terminal might obey what is in it."""
    plain = isinstance(value, str) and value.isprintable() and value and not set(value) & set(' "=')
    return str(value) if plain else json.dumps(value)
