"""Progress where no bar can live: in a log file, or at the other end of a pipe."""

import time
from collections.abc import Callable

from siloseal.report import wording

LINE_SECONDS = 30.0
"""Shortest time between two lines of one stage. A log of a run of hours stays readable, and shows that it goes on."""


class ProgressLines:
    """A line when a stage begins, and then the newest progress, at most one line every half minute."""

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._doing, self._since, self._unsaid = "Starting", clock(), ""
        self._next = clock()

    def begin(self, stage: str) -> None:
        """Say at once that a stage begins."""
        self._doing, self._since = stage, self._clock()
        self._say(f"{stage} ...")

    def progress(self, text: str) -> None:
        """Say the progress if the last line is old enough, else keep it: the newest is said when there is room."""
        if self._clock() < self._next:
            self._unsaid = text
        else:
            self._say(text)

    def beat(self) -> None:
        """Say the newest progress, or for how long the stage has run, if the last line is old enough."""
        if (now := self._clock()) >= self._next:
            self._say(self._unsaid or f"{self._doing}: {wording.duration(now - self._since)}")

    def _say(self, text: str) -> None:
        self._next, self._unsaid = self._clock() + LINE_SECONDS, ""
        self._write(text)
