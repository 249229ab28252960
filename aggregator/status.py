"""How far a run is, for `siloseal status` and for an operator's tools."""

import time
from collections import Counter
from collections.abc import Callable

from siloseal.aggregator.coordinator import Coordinator
from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.aggregator.request_queue import RequestQueue
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.schedule import FedAvg
from siloseal.federation.transport.wire import consortium_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

MOST_NOTES = 100


class Status:
    """Any thread may ask."""

    def __init__(self, job: Job, coordinator: Callable[[], Coordinator], request_queue: RequestQueue) -> None:
        self._job, self._coordinator, self._queue = job, coordinator, request_queue
        self._began = time.monotonic()
        self.epsilon: dict[str, float] = {}
        """What each silo has said that it has spent, rounded up by the silo."""
        self.trouble = ""
        """Why the aggregator itself cannot go on at the moment."""

    def report(self) -> pb.StatusReport:
        """As of now."""
        coordinator, schedule = self._coordinator(), self._job.schedule
        talk = coordinator.dispatcher
        return pb.StatusReport(
            protocol_version=PROTOCOL_VERSION,
            job=self._job.name,
            run_id=talk.run_id,
            job_digest=self._job.digest,
            phase=talk.stage,
            request=talk.number,
            asked=talk.asked,
            round=coordinator.round,
            rounds=schedule.rounds if isinstance(schedule, FedAvg) else schedule.tuning_rounds,
            seconds=time.monotonic() - self._began,
            silos=self._silos(talk),
            notes=[*talk.notes[-MOST_NOTES:], *([self.trouble] if self.trouble else [])],
        )

    def _silos(self, talk: Dispatcher) -> list[pb.SiloStatus]:
        sent, received = _by_silo(talk.sent), _by_silo(talk.received)
        return [
            pb.SiloStatus(
                silo=silo,
                attending=bool(presence.instance),
                last_seen=presence.last_seen,
                answered=not self._queue.is_pending(silo),
                sent_bytes=sent[silo],
                received_bytes=received[silo],
                epsilon_spent=self.epsilon.get(silo, 0.0),
                trouble=presence.trouble,
            )
            for silo, presence in self._queue.silos.items()
        ]


def _by_silo(counted: Counter[tuple[str, str]]) -> Counter[str]:
    total = Counter[str]()
    for (_, silo), size in counted.copy().items():
        total[silo] += size
    return total
