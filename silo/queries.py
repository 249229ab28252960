"""Queries at a silo: it counts one release of one query for the sum that follows."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import Column, NoisyTotal, Progress, Query
from siloseal.federation.analytics.releases import progress_of, query_release, query_releases, spreads_of, start_of
from siloseal.federation.analytics.wire import received_progress
from siloseal.federation.errors import ConfigError, MessageError, WrongRound
from siloseal.federation.job.releases import Release, Run, events_of
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.events import Event
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.data.tables import Table
from siloseal.silo.ledger import Charge
from siloseal.silo.state import Checkpoint
from siloseal.silo.work import Checkpoints

_KEY = "key"


class SiloQueries:
    """One silo's part in a job of queries. What can be refused is refused when it is made: columns and sizes."""

    def __init__(self, job: AnalyticsJob, silo: str, table: Table) -> None:
        self._job = job
        person = job.privacy.person
        table.require([*([] if person is None else [person.column]), *(query.column for query in job.queries)])
        if person is not None:
            table = table.first_of_each(person.column, person.records)
        _require_size(job, silo, len(table))
        self._columns = [_column(query, table) for query in job.queries]
        self._progress = Progress()

    def describe(self, enrolled: pb.Enrolled) -> None:
        """Add nothing: the columns that a silo must have stand in the job."""

    def prepare(self, request: pb.Request, checkpoints: Checkpoints, run: Run) -> pb.Prepared:
        if request.WhichOneof("body") != "query":
            raise MessageError("the request asks for what a job of queries has not; both sides must run one version")
        number, level = request.query.number, len(request.query.totals)
        if number >= len(self._job.queries):
            raise WrongRound(f"the job has {len(self._job.queries)} queries, and none with number {number}")
        query, at = self._job.queries[number], checkpoints.at
        progress = received_progress(
            query, request.query.totals, progress_of(run, number), spreads_of(self._job, number)
        )
        if query.finished(progress):
            raise WrongRound(f"{query.title} has all releases that it takes; each is made once")
        start = start_of(self._job, progress)
        if at.number != request.number:
            if at.prepared and (number, level) <= (int(at.prepared), at.round):
                raise WrongRound(
                    f"release {level + 1} of query {number + 1} was asked for after release {at.round + 1} of query "
                    f"{int(at.prepared) + 1}; each release is made once, and in order"
                )
            self._progress = progress
            checkpoints.save(Checkpoint(request.number, str(number), level, start))
        elif (at.prepared, at.round, at.start) != (str(number), level, start):
            raise WrongRound(f"request {request.number} came again, for another release than at first")
        return pb.Prepared()

    def release(self, at: Checkpoint) -> Release:
        return query_release(self._job, int(at.prepared), self._progress)

    def vector(self, at: Checkpoint) -> NDArray[np.float64]:
        number = int(at.prepared)
        return self._job.queries[number].count(self._columns[number], self._progress).astype(np.float64)

    def finish(self, request: pb.Finish) -> None:
        """Keep nothing: the answers are the aggregator's."""

    def state(self) -> dict[str, Tensor]:
        """The progress of the query under way: the hash key, and each total with its spread behind it."""
        totals = {
            f"{place:04d}": torch.from_numpy(np.append(total.values, total.spread))
            for place, total in enumerate(self._progress.totals)
        }
        return {**totals, _KEY: torch.frombuffer(bytearray(self._progress.key or bytes(32)), dtype=torch.uint8)}

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        if not tensors:
            self._progress = Progress()
            return
        kept = [tensors[name].numpy() for name in sorted(tensors) if name != _KEY]
        totals = tuple(NoisyTotal(values[:-1], float(values[-1])) for values in kept)
        self._progress = Progress(tensors[_KEY].numpy().tobytes(), totals)


def events_of_queries(job: AnalyticsJob, charges: Sequence[Charge]) -> list[Event]:
    """The most that the queries cost: what was charged, and what was planned of the releases that were not."""
    charged = {charge.phase for charge in charges}
    left = events_of(release for release in query_releases(job) if release.entry not in charged)
    return [*(charge.event for charge in charges), *left]


def events_of_run(job: AnyJob, charges: Sequence[Charge]) -> list[Event]:
    """What a run with these charges costs: of queries all that were planned, because records decide when they end."""
    if charges and isinstance(job, AnalyticsJob):
        return events_of_queries(job, charges)
    return [charge.event for charge in charges]


def _require_size(job: AnalyticsJob, silo: str, records: int) -> None:
    if records > job.largest_silo:
        raise ConfigError(f"{silo} holds more records than largest_silo, {job.largest_silo}; raise it in the job")
    if job.privacy.delta * records >= 1:
        raise ConfigError(
            f"privacy.delta is {delta_text(job.privacy.delta)}, but {silo} holds so many records that this lets a "
            "mechanism publish somebody's record outright; use less than 1 / records"
        )


def _column(query: Query, table: Table) -> Column:
    return table.numbers(query.column) if query.numeric else table.texts(query.column)
