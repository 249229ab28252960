"""One run of one job, read from top to bottom: enrol everyone, agree on the job, do its work, let everyone go.

The coordinator asks the silos for replies and does not know what carries them, nor what they learn: training
(`aggregator.training`), queries (`aggregator.queries`) and averages (`aggregator.averages`) are three kinds of work.
All of it is deterministic given the replies, so that a journal of them is all that crash recovery needs.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from siloseal.aggregator.dispatcher import Dispatcher, Patience
from siloseal.aggregator.enrolment import agree, enrol
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.work import AggregatorWork
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.run_events.coordination import RunBegan
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.engine import Engine
from siloseal.federation.transport.wire import messages_pb2 as pb

Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class Outcome(Generic[Result_co]):
    """What a job ends with."""

    result: Result_co
    """A trained model, the answers to queries, or what is known of averages."""
    requests: int
    """Number of requests that the run took."""
    notes: list[str]


class Coordinator(Generic[Result_co]):
    """One run of one job."""

    def __init__(
        self,
        job: AnyJob,
        work: AggregatorWork[Result_co],
        engine: Engine,
        journal: Journal,
        publish: Subscriber,
        patience: Patience = Patience(),  # noqa: B008 (frozen)
    ) -> None:
        self._job, self._work, self._publish = job, work, publish
        self._dispatcher = Dispatcher(job, engine, journal, patience, publish)

    def run(self) -> Outcome[Result_co]:
        """The whole job."""
        dispatcher, silos = self._dispatcher, self._job.silos.names
        self._publish(RunBegan())
        enrolled = enrol(self._job, dispatcher, check=self._work.check_enrolment)
        self._work.enrol(enrolled)
        run = agree(self._job, dispatcher, enrolled)
        result = self._work.run(run, dispatcher)
        finish = pb.Request(finish=self._work.finish())
        dispatcher.ask(dict.fromkeys(silos, finish), fewest=0)
        dispatcher.go_on()
        return Outcome(result, dispatcher.number, dispatcher.notes)
