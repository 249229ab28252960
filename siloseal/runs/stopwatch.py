"""Wall-clock time of a run, by stage."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from siloseal.federation.run_events.aggregator import StageBegan
from siloseal.federation.run_events.stream import PartySaid, PublishedBefore, RunEvent
from siloseal.run_folder.metrics import TimingMetric


class Stopwatch:
    """A subscriber that adds up how long each stage takes; enrolment comes before the first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = defaultdict[str, float](float)
        self._stage, self._entered = "enrolment", clock()

    def hear(self, event: RunEvent) -> None:
        """Follow the stages."""
        match event:
            case StageBegan(stage) | PublishedBefore(StageBegan(stage)) | PartySaid(event=StageBegan(stage)):
                self._enter(stage)

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        """Count the time spent here for this stage, and not for the one around it."""
        around = self._stage
        self._enter(stage)
        try:
            yield
        finally:
            self._enter(around)

    def timings(self) -> list[TimingMetric]:
        """Time by stage, so far."""
        self._enter(self._stage)
        return [TimingMetric(stage=stage, seconds=seconds) for stage, seconds in self._seconds.items()]

    def _enter(self, stage: str) -> None:
        now = self._clock()
        self._seconds[self._stage] += now - self._entered
        self._stage, self._entered = stage, now
