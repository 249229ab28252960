"""What a kind of job does at the aggregator between two sums; the coordinator around it is the same for all kinds."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.federation.job.releases import Run
from siloseal.federation.transport.wire import messages_pb2 as pb

Result_co = TypeVar("Result_co", covariant=True)


class AggregatorWork(Protocol[Result_co]):
    """The aggregator's work in one run of one job: training, queries or averages.

    It serves one run from its first request on. It must be deterministic given the replies, so that a journal of them
    is all that crash recovery needs.
    """

    def check_enrolment(self, silo: str, reply: pb.Reply) -> None:
        """Refuse with `MessageError` a description of a silo's data that cannot be right; it is not journalled."""

    def enrol(self, replies: Mapping[str, pb.Reply]) -> None:
        """Read what the silos say of their data; `RunError` where they do not fit together."""

    def run(self, run: Run, dispatcher: Dispatcher) -> Result_co:
        """Have every release of the job made, in order."""

    def finish(self) -> pb.Finish:
        """What every silo is given at the end."""
