"""What the releases of an analytics run have told so far, on the disk: a run that was interrupted goes on from there.

Totals are public as soon as they exist. The release that was under way is lost: the silos have paid for it, and pay
again if the budget has room for that.
"""

from pathlib import Path

import numpy as np
from pydantic import ValidationError

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import NoisyTotal, Progress
from siloseal.federation.analytics.releases import AnalyticsRun
from siloseal.federation.config.section import Section
from siloseal.federation.errors import RunError
from siloseal.federation.records.storage import write_atomically


class _Total(Section):
    values: tuple[float, ...]
    spread: float


class _Kept(Section):
    job: str
    totals: tuple[tuple[_Total, ...], ...]


class Told:
    """The totals of each query, in order."""

    def __init__(self, job: AnalyticsJob, path: Path) -> None:
        self._job, self._path = job.digest.hex(), path
        self._totals: list[list[_Total]] = [[] for _ in job.queries]
        if path.exists():
            try:
                kept = _Kept.model_validate_json(path.read_bytes())
            except ValidationError as error:
                raise RunError(f"{path} is damaged; restore it from a backup, or choose another folder") from error
            if kept.job != self._job or len(kept.totals) != len(job.queries):
                raise RunError(f"{path} belongs to another job; choose another folder with --out")
            self._totals = [list(totals) for totals in kept.totals]

    @property
    def releases(self) -> tuple[int, ...]:
        """How many of each query have come in."""
        return tuple(len(totals) for totals in self._totals)

    def progress(self, run: AnalyticsRun, number: int) -> Progress:
        """How far the query with this number has come."""
        progress = run.progress(number)
        for total in self._totals[number]:
            progress = progress.after(NoisyTotal(np.array(total.values), total.spread))
        return progress

    def add(self, number: int, total: NoisyTotal) -> None:
        """Keep one more, before anything is made of it."""
        self._totals[number].append(_Total(values=tuple(total.values.tolist()), spread=total.spread))
        kept = _Kept(job=self._job, totals=tuple(tuple(totals) for totals in self._totals))
        write_atomically(self._path, kept.model_dump_json().encode())
