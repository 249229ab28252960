"""What a deployed process says while it runs: the audit log on disk, and lines for a person or a program."""

import json
import sys
import threading
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Self

from siloseal.federation.records.audit import AuditLog
from siloseal.federation.records.witness import Fact
from siloseal.federation.transport.wire.codec import printable

URGENT = ("cannot_write",)
"""What whoever wants errors only must see: nothing goes on before somebody does something."""


class Feed:
    """A `Witness`. Lines for a person go to standard error, JSON lines for a program to standard output."""

    def __init__(self, audit: AuditLog, *, json_lines: bool, quiet: bool) -> None:
        self._audit, self._json, self._quiet = audit, json_lines, quiet
        self._lock = threading.Lock()

    def record(self, event: str, **facts: Fact) -> None:
        """Into the audit log first: what is shown has happened."""
        self._audit.record(event, **facts)
        self.show(event, **facts)

    def show(self, event: str, **facts: Fact) -> None:
        """One line."""
        with self._lock, suppress(OSError):  # nobody listens any more: what counts is in the audit log
            if self._json:
                print(json.dumps({"event": event, **facts}), flush=True)
            elif not self._quiet or event in URGENT:
                print(f"{datetime.now():%H:%M:%S} {_in_words(event, facts)}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._audit.close()


def _in_words(event: str, facts: dict[str, Fact]) -> str:
    """Digests are for the audit log; a person reads the rest."""
    shown = [f"{name}={_value(value)}" for name, value in facts.items() if not _is_digest(value) and value is not None]
    return f"{event.replace('_', ' ')}: {', '.join(shown)}" if shown else event.replace("_", " ")


def _value(value: Fact) -> str:
    if isinstance(value, list):
        value = " ".join(value)
    return printable(f"{value:.4g}" if isinstance(value, float) else str(value))


def _is_digest(value: Fact) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and len(text) == 64 and " " not in text for text in texts)
