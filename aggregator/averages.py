"""Averages at the aggregator: one sum for each, for as long as enough scripts have something to average."""

from collections.abc import Mapping

from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.outcome import AverageMade, Averages, averages_of, made
from siloseal.federation.averages.releases import STAGE, average_release, mean_in, start_of
from siloseal.federation.averages.structure import Structure, difference
from siloseal.federation.errors import DomainError
from siloseal.federation.job.releases import Run
from siloseal.federation.run_events.aggregator import AverageOpened
from siloseal.federation.run_events.coordination import RoundBegan
from siloseal.federation.run_events.stream import Subscriber
from siloseal.federation.transport.wire import messages_pb2 as pb

Structures = Mapping[str, Structure]
"""What each silo that goes on has handed over, by its name."""


class AggregatorAverages:
    """The aggregator's work in a job of averages. What ends the run is told to every script, in words."""

    def __init__(self, job: AverageJob, publish: Subscriber) -> None:
        self._job, self._publish = job, publish
        self._last: Mean | None = None
        self._ended = ""

    def check_enrolment(self, silo: str, reply: pb.Reply) -> None:
        """Accept every enrolment: what a script trains is known when it hands something over."""

    def enrol(self, replies: Mapping[str, pb.Reply]) -> None:
        """Compare nothing yet."""

    def run(self, run: Run, dispatcher: Dispatcher) -> Averages:
        dispatcher.enter(STAGE)
        found = list[AverageMade]()
        while not self._ended and len(found) < self._job.averages:
            self._publish(RoundBegan(len(found) + 1))
            given = self._given(dispatcher, len(found))
            self._ended = self._why_not(given)
            if not self._ended and (mean := self._opened(run, dispatcher, len(found), given)) is not None:
                self._last = mean
                found.append(made(mean))
                self._publish(AverageOpened(mean.round + 1, mean.contributors, mean.error_bound))
        self._ended = self._ended or f"it has made all of its {self._job.averages} averages"
        return averages_of(self._job, tuple(found), self._ended)

    def finish(self) -> pb.Finish:
        """Give the silos the last average, and why there are no more."""
        return pb.Finish(last=None if self._last is None else self._last.to_wire(), words=self._ended)

    def _given(self, dispatcher: Dispatcher, round: int) -> Structures:
        """What the silos have to average. Those that have left are not in it, nor those that stay silent."""
        request = pb.Request(average=pb.Average(round=round, last=None if self._last is None else self._last.to_wire()))
        replies = dispatcher.ask(
            dict.fromkeys(self._job.silos.names, request), fewest=self._job.quorum, check=_require_structure
        )
        return {
            silo: Structure.from_wire(reply.prepared.structure, silo)
            for silo, reply in sorted(replies.items())
            if not reply.prepared.leaves
        }

    def _why_not(self, given: Structures) -> str:
        """Why there is no average of what was given; empty where there is one."""
        if not given:
            return "all scripts have left"
        if len(given) < self._job.quorum:
            return (
                f"only {', '.join(given)} would go on, but an average is of {self._job.quorum} silos or more; the "
                "scripts must call as often as each other, or the job needs a smaller silos.fewest"
            )
        first, *others = given
        found = (difference(first, given[first], other, given[other]) for other in others)
        differing = next(filter(None, found), "")
        return differing and f"{differing}; the scripts must average modules of one structure"

    def _opened(self, run: Run, dispatcher: Dispatcher, round: int, given: Structures) -> Mean | None:
        """The average, or None with the reason kept: it is so imprecise that it means nothing."""
        structure = next(iter(given.values()))
        release = average_release(self._job, round, structure.length)
        try:
            summed = dispatcher.sum(release, run, given, start_of(self._job, round, structure, self._last))
            return mean_in(self._job, round, summed)
        except DomainError as error:
            self._ended = str(error)
            return None


def _require_structure(silo: str, reply: pb.Reply) -> None:
    """`MessageError` unless the silo has left, or says what it hands over."""
    if not reply.prepared.leaves:
        Structure.from_wire(reply.prepared.structure, silo)
