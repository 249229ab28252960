"""Queries at the aggregator: every release of every query by a sum of its own, then the answers."""

from collections.abc import Mapping

from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.aggregator.spending import Spending
from siloseal.federation.analytics.answers import Answers, answers_of
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import Answer, Progress
from siloseal.federation.analytics.releases import progress_of, query_release, read_total, stage_of, start_of
from siloseal.federation.analytics.wire import query_message
from siloseal.federation.job.releases import Run
from siloseal.federation.run_events.aggregator import QueryProgressed
from siloseal.federation.run_events.coordination import RoundBegan
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.wire import messages_pb2 as pb


class AggregatorQueries:
    """The aggregator's work in a job of queries."""

    def __init__(self, job: AnalyticsJob, publish: Subscriber) -> None:
        self._job, self._publish = job, publish
        self._spending = Spending(job, publish)

    def check_enrolment(self, silo: str, reply: pb.Reply) -> None:
        """Accept every enrolment: the columns that a table must have stand in the job."""

    def enrol(self, replies: Mapping[str, pb.Reply]) -> None:
        """Compare nothing: tables need no common shape."""

    def run(self, run: Run, dispatcher: Dispatcher) -> Answers:
        found = (self._answer(run, dispatcher, number) for number in range(len(self._job.queries)))
        return answers_of(self._job, tuple(found))

    def finish(self) -> pb.Finish:
        """Give the silos nothing: the answers are the aggregator's."""
        return pb.Finish()

    def _answer(self, run: Run, dispatcher: Dispatcher, number: int) -> Answer:
        query = self._job.queries[number]
        stage, progress = stage_of(query, number), progress_of(run, number)
        dispatcher.enter(stage)
        self._publish(RoundBegan(number + 1))
        while not query.finished(progress):
            progress = self._released(run, dispatcher, number, progress)
            self._publish(QueryProgressed(stage, len(progress.totals), query.releases))
        return query.answer(progress)

    def _released(self, run: Run, dispatcher: Dispatcher, number: int, progress: Progress) -> Progress:
        """Take the query one release further. Silent silos are left out, if enough remain."""
        release = query_release(self._job, number, progress)
        request = pb.Request(query=query_message(number, progress))
        prepared = dispatcher.ask(dict.fromkeys(release.roster, request), fewest=release.quorum)
        self._spending.charge(release, prepared)
        summed = dispatcher.sum(release, run, prepared, start_of(self._job, progress))
        return progress.after(read_total(self._job, number, summed))
