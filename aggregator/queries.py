"""A job of queries, read from top to bottom: enrol, then every release of every query by a sum of its own.

Like a training job it is deterministic given the replies, so that a journal of them is all that crash recovery needs.
"""

from dataclasses import dataclass

from siloseal.aggregator.dispatcher import Dispatcher, Patience
from siloseal.aggregator.enrolment import agree, enrol
from siloseal.aggregator.journal import Journal
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import Answer, Progress
from siloseal.federation.analytics.releases import progress_of, query_release, read_total, start_of
from siloseal.federation.analytics.wire import query_message
from siloseal.federation.job.releases import Run
from siloseal.federation.run_events.aggregator import RunBegan, StageBegan
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.engine import Engine
from siloseal.federation.transport.wire import messages_pb2 as pb


@dataclass(frozen=True)
class QueryOutcome:
    """What a job of queries ends with."""

    answers: tuple[Answer, ...]
    requests: int
    """Number of requests that the run took."""
    notes: list[str]


class QueryCoordinator:
    """One run of one job of queries."""

    def __init__(
        self,
        job: AnalyticsJob,
        engine: Engine,
        journal: Journal,
        publish: Subscriber,
        patience: Patience = Patience(),  # noqa: B008 (frozen)
    ) -> None:
        self._job, self._publish = job, publish
        self._dispatcher = Dispatcher(job, engine, journal, patience, publish)

    def run(self) -> QueryOutcome:
        """The whole job."""
        self._publish(RunBegan())
        run = agree(self._job, self._dispatcher, enrol(self._job, self._dispatcher))
        answers = tuple(self._answer(run, number) for number in range(len(self._job.queries)))
        self._dispatcher.ask(dict.fromkeys(self._job.silos.names, pb.Request(finish=pb.Finish())), fewest=0)
        self._dispatcher.go_on()
        return QueryOutcome(answers, self._dispatcher.number, self._dispatcher.notes)

    def _answer(self, run: Run, number: int) -> Answer:
        query = self._job.queries[number]
        self._dispatcher.stage = query.title
        self._publish(StageBegan(query.title))
        progress = progress_of(run, number)
        while not query.finished(progress):
            progress = self._released(run, number, progress)
        return query.answer(progress)

    def _released(self, run: Run, number: int, progress: Progress) -> Progress:
        """Take the query one release further. Silent silos are left out, if enough remain."""
        release = query_release(self._job, number, progress)
        request = pb.Request(query=query_message(number, progress))
        prepared = self._dispatcher.ask(dict.fromkeys(release.roster, request), fewest=release.quorum)
        session = release.session(run, start_of(self._job, progress))
        return progress.after(read_total(self._job, number, self._dispatcher.sum(release, session, prepared)))
