"""What a deployed process says while it runs: lines for a person (standard error) or a program (standard output)."""

import sys
import threading
from contextlib import suppress
from datetime import datetime

from siloseal.federation.printable import printable
from siloseal.federation.records.audit import Value
from siloseal.federation.run_events.aggregator import WritingFailed
from siloseal.federation.run_events.kinds import Audited, Shown
from siloseal.federation.run_events.lines import Facts, encode, facts_of, shown
from siloseal.federation.run_events.stream import RunEvent


class EventLines:
    """A subscriber that prints one line an event. Subscribed last, it shows only what has happened."""

    def __init__(self, *, json_lines: bool, quiet: bool) -> None:
        self._json, self._quiet = json_lines, quiet
        self._lock = threading.Lock()

    def show(self, event: RunEvent) -> None:
        """Print the event, if it has a line."""
        if (visible := shown(event)) is None:
            return
        with self._lock, suppress(OSError):  # nobody listens any more: what counts is in the audit log
            if self._json:
                print(encode(visible), flush=True)
            elif not self._quiet or isinstance(event, WritingFailed):  # nothing goes on before somebody does something
                print(f"{datetime.now():%H:%M:%S} {in_words(visible)}", file=sys.stderr, flush=True)


def in_words(event: Audited | Shown) -> str:
    """An event for a person. Digests are for the audit log; a person reads the rest."""
    name, facts = event.NAME.replace("_", " "), _readable(facts_of(event))
    return f"{name}: {', '.join(facts)}" if facts else name


def _readable(facts: Facts) -> list[str]:
    return [f"{name}={_text(value)}" for name, value in facts.items() if not _is_digest(value) and value is not None]


def _text(value: Value) -> str:
    if isinstance(value, list):
        value = " ".join(value)
    return printable(f"{value:.4g}" if isinstance(value, float) else str(value))


def _is_digest(value: Value) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and len(text) == 64 and " " not in text for text in texts)
