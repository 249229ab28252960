"""Events of a silo. The fields of those that become lines are names, numbers, sizes, digests and fixed sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.run_events.kinds import Audited, Internal, Shown


@dataclass(frozen=True, slots=True)
class JobAccepted(Audited):
    """The silo has looked at the offered job and takes part; `offer` is the digest of what it was offered."""

    NAME: ClassVar[str] = "takes_part"
    run: str
    offer: str


@dataclass(frozen=True, slots=True)
class JobRefused(Audited):
    """The silo has looked at the offered job and takes no part."""

    NAME: ClassVar[str] = "refuses"
    run: str
    offer: str
    words: str


@dataclass(frozen=True, slots=True)
class ClocksDiffer(Audited):
    """This machine's clock and the aggregator's are far apart."""

    NAME: ClassVar[str] = "clocks_differ"
    words: str


@dataclass(frozen=True, slots=True)
class RequestReceived(Shown):
    """A request has come, of `size` bytes."""

    NAME: ClassVar[str] = "asked"
    number: int
    what: str
    size: int


@dataclass(frozen=True, slots=True)
class RequestAnswered(Audited):
    """A reply is on the silo's disk and has not left yet; `request` and `reply` are digests."""

    NAME: ClassVar[str] = "answers"
    number: int
    what: str
    answer: str | None
    request: str
    request_bytes: int
    reply: str
    reply_bytes: int
    epsilon: float | None


@dataclass(frozen=True, slots=True)
class ReplyDelivered(Shown):
    """The aggregator has confirmed a reply."""

    NAME: ClassVar[str] = "delivered"
    number: int


@dataclass(frozen=True, slots=True)
class ReplyNotNeeded(Audited):
    """A reply came too late, or a second time."""

    NAME: ClassVar[str] = "not_needed"
    number: int
    words: str


@dataclass(frozen=True, slots=True)
class RowsTrainedAlone(Shown):
    """A silo's private steps take one row at a time, which is slow; `words` say why."""

    NAME: ClassVar[str] = "rows_trained_alone"
    silo: str
    words: str


@dataclass(frozen=True, slots=True)
class TrainingProgressed(Shown):
    """A silo has taken `done` of the steps of one training; `metrics` are those that cost no privacy."""

    NAME: ClassVar[str] = "training"
    silo: str
    phase: str
    done: int
    steps: int
    metrics: Mapping[str, float]
    """Metrics of the training, each a field of its own in the event's line."""


@dataclass(frozen=True, slots=True)
class DialDelayed(Shown):
    """The silo has no connection, and dials again after `seconds`."""

    NAME: ClassVar[str] = "waiting"
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ConnectionChanged(Internal):
    """The silo has reached the aggregator, or is cut off from it."""

    connected: bool


@dataclass(frozen=True, slots=True)
class RunLeft(Audited):
    """The silo has done its part, and its process ends."""

    NAME: ClassVar[str] = "leaves"
    run: str
    epsilon: float | None
    delivered: bool
    words: str


SiloEvent = (
    JobAccepted | JobRefused | ClocksDiffer | RequestReceived | RequestAnswered | ReplyDelivered | ReplyNotNeeded
    | RowsTrainedAlone | TrainingProgressed | DialDelayed | ConnectionChanged | RunLeft
)  # fmt: skip
