"""Events of the aggregator that become lines: their fields are names, numbers, sizes and digests."""

from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.run_events.kinds import Audited, Shown


@dataclass(frozen=True, slots=True)
class Serving(Audited):
    """The aggregator listens, and offers one run of one job to these silos."""

    NAME: ClassVar[str] = "serves"
    address: str
    run: str
    job: str
    silos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiloAttends(Audited):
    """A silo has dialled in and waits for requests."""

    NAME: ClassVar[str] = "attends"
    silo: str
    peer: str


@dataclass(frozen=True, slots=True)
class SiloLeft(Audited):
    """A silo's connection has ended."""

    NAME: ClassVar[str] = "left"
    silo: str


@dataclass(frozen=True, slots=True)
class CallerTurnedAway(Audited):
    """A call was answered with an error. It is shown even where the audit log has no room for it."""

    NAME: ClassVar[str] = "turned_away"
    peer: str
    error: str
    words: str


@dataclass(frozen=True, slots=True)
class StageBegan(Audited):
    """A stage of the job begins."""

    NAME: ClassVar[str] = "stage"
    stage: str


@dataclass(frozen=True, slots=True)
class RequestSent(Audited):
    """A request goes out to these silos, of `request_bytes` bytes in all; `requests` are its digests."""

    NAME: ClassVar[str] = "asks"
    number: int
    what: str
    silos: tuple[str, ...]
    requests: tuple[str, ...]
    request_bytes: int


@dataclass(frozen=True, slots=True)
class ReplyAccepted(Audited):
    """A reply is in the journal; `reply` is its digest."""

    NAME: ClassVar[str] = "accepts"
    number: int
    silo: str
    reply: str
    reply_bytes: int


@dataclass(frozen=True, slots=True)
class ReplyKept(Audited):
    """The journal had this reply after a restart. Whether it was accepted before, a kill may have left open."""

    NAME: ClassVar[str] = "kept"
    number: int
    silo: str
    reply: str
    reply_bytes: int


@dataclass(frozen=True, slots=True)
class RequestRefused(Audited):
    """A silo will not do what it was asked."""

    NAME: ClassVar[str] = "refused"
    number: int
    silo: str
    error: str


@dataclass(frozen=True, slots=True)
class SilosSilent(Audited):
    """The run goes on without these silos, whose replies did not come in time."""

    NAME: ClassVar[str] = "goes_on_without"
    number: int
    silos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BudgetSpent(Audited):
    """A silo's ledger stands at this epsilon at most, once the release under way is over."""

    NAME: ClassVar[str] = "spent"
    silo: str
    epsilon_at_most: float


@dataclass(frozen=True, slots=True)
class ModelKept(Audited):
    """The global model at the end of a stage is in a file of the aggregator's state folder."""

    NAME: ClassVar[str] = "model"
    stage: str
    path: str


@dataclass(frozen=True, slots=True)
class RunFinished(Audited):
    """The job is done, with the number of its requests and of its notes."""

    NAME: ClassVar[str] = "finished"
    requests: int
    notes: int


@dataclass(frozen=True, slots=True)
class GlobalModelWritten(Shown):
    """The final model is in this file."""

    NAME: ClassVar[str] = "global_model"
    path: str


@dataclass(frozen=True, slots=True)
class AnswersWritten(Shown):
    """The answers to a job's queries are in this file."""

    NAME: ClassVar[str] = "answers_written"
    path: str


@dataclass(frozen=True, slots=True)
class AveragesWritten(Shown):
    """What is known of a job's averages is in this file; no value of them is."""

    NAME: ClassVar[str] = "averages_written"
    path: str


@dataclass(frozen=True, slots=True)
class ReportWritten(Shown):
    """The run's report is in this file."""

    NAME: ClassVar[str] = "report"
    path: str


@dataclass(frozen=True, slots=True)
class FittingProgressed(Shown):
    """The aggregator fits the first generator, and has taken `done` of its steps."""

    NAME: ClassVar[str] = "fitting"
    done: int
    steps: int


@dataclass(frozen=True, slots=True)
class QueryProgressed(Shown):
    """A query has made `done` of its releases, which are `releases` at most."""

    NAME: ClassVar[str] = "query"
    stage: str
    done: int
    releases: int


@dataclass(frozen=True, slots=True)
class AverageOpened(Shown):
    """An average of these silos is known, the first with number 1."""

    NAME: ClassVar[str] = "average"
    number: int
    contributors: tuple[str, ...]
    error_bound: float


@dataclass(frozen=True, slots=True)
class RepliesAwaited(Shown):
    """The deadline has passed, and too few have answered to go on: these silos still owe a reply."""

    NAME: ClassVar[str] = "awaits_replies"
    silos: tuple[str, ...]
    needed: int
    past_deadline: bool


@dataclass(frozen=True, slots=True)
class WritingFailed(Shown):
    """The aggregator's disk takes nothing. It tries again after `seconds`."""

    NAME: ClassVar[str] = "cannot_write"
    reason: str
    seconds: float


AggregatorEvent = (
    Serving | SiloAttends | SiloLeft | CallerTurnedAway | StageBegan | RequestSent | ReplyAccepted | ReplyKept
    | RequestRefused | SilosSilent | BudgetSpent | ModelKept | RunFinished | GlobalModelWritten | AnswersWritten
    | AveragesWritten | ReportWritten | FittingProgressed | QueryProgressed | AverageOpened | RepliesAwaited
    | WritingFailed
)  # fmt: skip
