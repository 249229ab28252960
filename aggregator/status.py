"""How far a run is, for `siloseal status` and for an operator's tools."""

import time
from collections import Counter
from dataclasses import dataclass, field

from siloseal.aggregator.request_queue import RequestQueue
from siloseal.aggregator.traffic import Traffic
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.job.phases import Phase, rounds_of
from siloseal.federation.run_events.aggregator import BudgetSpent, RequestSent, StageBegan, WritingFailed
from siloseal.federation.run_events.coordination import NoteTaken, ReplayEnded, RequestReplayed, RoundBegan, RunBegan
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

MOST_NOTES = 100
REPLAYS = "The run is played again from its journal: until that is over, figures may be those of an earlier moment."


@dataclass
class _Standing:
    """The state of the run; begun anew whenever it is played again from its journal."""

    stage: str = "enrolment"
    request: int = 0
    asked: str = ""
    round: int = 0
    """Number of the round of tuning or averaging, or of the query; 0 outside them."""
    notes: list[str] = field(default_factory=list)
    replays: bool = False
    """Whether requests are replayed that the journal has, so that figures may be those of an earlier moment."""


class Status:
    """A subscriber that knows how far the run is. Any thread may ask."""

    def __init__(self, job: AnyJob, run_id: bytes, request_queue: RequestQueue, *, warning: str) -> None:
        """`warning` stands above the notes of the run; empty if there is none."""
        self._job, self._run_id, self._queue, self._warning = job, run_id, request_queue, warning
        self._began = time.monotonic()
        self._at, self._traffic = _Standing(), Traffic()
        self._epsilon = dict[str, float]()
        """The most that each silo can have spent, by what was published last; nothing before its first work."""
        self._replayed = dict[str, float]()
        """The last of the earlier figures that are played again, until all of them were."""
        self._trouble = ""
        """Why the aggregator itself cannot go on at the moment."""

    def hear(self, event: RunEvent) -> None:
        """Follow the run."""
        self._traffic.hear(event)
        match event:
            case PublishedBefore(BudgetSpent(silo, epsilon)):  # an earlier figure: what is shown may be of later
                self._replayed[silo] = epsilon
            case PublishedBefore(before):
                self.hear(before)
            case RunBegan():
                self._at = _Standing()
            case StageBegan(stage):
                self._at.stage = stage
            case RoundBegan(number):
                self._at.round = number
            case RequestSent(number=number, what=what):
                self._at.request, self._at.asked = number, what
            case RequestReplayed(number, what):
                self._at.request, self._at.asked, self._at.replays = number, what, True
            case NoteTaken(text):
                self._at.notes.append(text)
            case BudgetSpent(silo, epsilon):
                self._epsilon[silo] = epsilon
            case WritingFailed(reason=reason):
                self._trouble = reason
            case ReplayEnded():
                self._trouble, self._at.replays = "", False
                self._epsilon, self._replayed = self._epsilon | self._replayed, {}

    def report(self) -> pb.StatusReport:
        """The status as of now."""
        at = self._at
        notes = (self._warning, *at.notes[-MOST_NOTES:], self._trouble or (REPLAYS if at.replays else ""))
        return pb.StatusReport(
            protocol_version=PROTOCOL_VERSION,
            job=self._job.name,
            run_id=self._run_id,
            job_digest=self._job.digest,
            phase=at.stage,
            request=at.request,
            asked=at.asked,
            round=at.round,
            rounds=_rounds(self._job),
            seconds=time.monotonic() - self._began,
            silos=self._silos(),
            notes=[note for note in notes if note],
        )

    def _silos(self) -> list[pb.SiloStatus]:
        sent, received = Counter[str](), Counter[str]()
        for counted in self._traffic.counted():
            sent[counted.silo] += counted.sent_bytes
            received[counted.silo] += counted.received_bytes
        return [
            pb.SiloStatus(
                silo=silo,
                attending=bool(presence.instance),
                last_seen=presence.last_seen,
                answered=not self._queue.is_pending(silo),
                sent_bytes=sent[silo],
                received_bytes=received[silo],
                epsilon_spent=max(self._epsilon.get(silo, 0.0), self._replayed.get(silo, 0.0)),
                trouble=presence.trouble,
            )
            for silo, presence in self._queue.silos.items()
        ]


def _rounds(job: AnyJob) -> int:
    """Number of the last round of tuning or averaging, or of the last query or average; 0 where a job has none."""
    if isinstance(job, AnalyticsJob):
        return len(job.queries)
    if isinstance(job, AverageJob):
        return job.averages
    return max(number for phase in Phase for number in (0, *rounds_of(job, phase)))
