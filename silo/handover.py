"""What a silo's own script and its serving thread hand to each other: a module for one average, and the average.

The script calls and waits; the thread that serves the aggregator waits for the script. Neither knows the other.
"""

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import RunError, SessionMismatch, SiloSealError


@dataclass(frozen=True, eq=False)
class Contribution:
    """What a script hands over for one average."""

    structure: Structure
    vector: NDArray[np.float64]
    """The module's values times the silo's share, and that share behind them: `federation.job.weighting.weigh`."""


class Abandoned(Exception):
    """The script has failed, so nothing more is served. The aggregator sees a silo that is silent."""


class Handover:
    """The place between one script and one serving thread. All methods may be called from any thread.

    It serves one run. What the script gives waits here until an average opens, so a second run over other silos could
    sum it once more, and the difference of both sums would be the module of one silo.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._run = ""
        self._job: AverageJob | None = None
        self._given: Contribution | None = None
        self._last: Mean | None = None
        self._left = self._abandoned = False
        self._end: SiloSealError | None = None

    @property
    def last(self) -> Mean | None:
        """The last average that this silo was told; None before the first."""
        return self._last

    @property
    def rounds(self) -> int:
        """Number of averages that are over."""
        return 0 if self._last is None else self._last.round + 1

    @property
    def ended(self) -> bool:
        """Whether the run is over for the script; the serving thread ends by itself then."""
        return self._end is not None

    # The script's side.

    def job(self) -> AverageJob:
        """The job, as soon as the silo has joined it; the error with which the run ended before that."""
        with self._changed:
            self._changed.wait_for(lambda: self._job is not None or self._end is not None)
            if self._job is None:
                raise self._ended()
            return self._job

    def average(self, given: Contribution) -> Mean:
        """Give what this silo has, and wait for the next average that opens."""
        with self._changed:
            if self._end is not None:
                raise self._end
            if self._left or self._abandoned:
                raise RunError("this session is closed; open another one")
            before, self._given = self.rounds, given
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: self.rounds > before or self._end is not None)
            finally:
                self._given = None  # an interrupted script hands over nothing
            if self.rounds == before or self._last is None:
                raise self._ended()
            return self._last

    def leave(self) -> None:
        """Hand over nothing more: the script is over."""
        with self._changed:
            self._left = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Let the silo fall silent: the script has failed."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def _ended(self) -> SiloSealError:
        return self._end or RunError("the run is over")

    # The serving thread's side.

    def join(self, job: AverageJob, *, run: str, last: Mean | None) -> None:
        """Tell the script which job the silo has joined, and the last average of that run.

        `SessionMismatch` in any run but the first: it ends the script, too, and nothing is taken from then on.
        """
        with self._changed:
            if self._run not in ("", run):
                error = _another_run(self._run, run)
                self.end(error)
                raise error
            self._run, self._job = run, job
            if last is not None:
                self.hear(last)
            self._changed.notify_all()

    def take(self) -> Contribution | None:
        """What the script gives, as soon as it does; None where it has left. After the end, the error that ended it."""
        with self._changed:
            self._changed.wait_for(lambda: self._given is not None or self._left or self._abandoned or self.ended)
            if self._abandoned:
                raise Abandoned("the script has failed")
            if self._end is not None:
                raise self._end
            return self._given

    def hear(self, mean: Mean) -> None:
        """Tell the script an average. One that it was told before changes nothing."""
        with self._changed:
            if mean.round >= self.rounds:
                self._last, self._given = mean, None
                self._changed.notify_all()

    def end(self, error: SiloSealError) -> None:
        """End the run for the script: whatever it asks from here on ends with this error."""
        with self._changed:
            self._end = self._end or error
            self._changed.notify_all()


def _another_run(mine: str, offered: str) -> SessionMismatch:
    return SessionMismatch(
        f"the script serves run {mine[:16]}, but the aggregator offers run {offered[:16]}; one session serves one run, "
        "because two sums over different silos show what one silo gave. Nothing is handed over again. Ask whoever runs "
        "the aggregator what became of the first run; to take part in the other one, start the script again"
    )
