"""Who is told what happens in a deployed process."""

from typing import Protocol

Fact = str | int | float | bool | None | list[str]


class Witness(Protocol):
    """Keeps the audit log and shows progress. Facts are names, numbers, sizes, digests: never data, weights or keys."""

    def record(self, event: str, **facts: Fact) -> None:
        """Into the audit log, and shown."""

    def show(self, event: str, **facts: Fact) -> None:
        """Shown only: progress, and waiting."""
