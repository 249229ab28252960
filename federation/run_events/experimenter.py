"""Events of whoever runs a job on one machine, in one process or in several, and measures its models."""

from collections.abc import Mapping
from dataclasses import dataclass

from siloseal.federation.run_events.kinds import Internal


@dataclass(frozen=True, slots=True)
class RunOpened(Internal):
    """A run begins, or goes on, in its folder."""

    name: str
    folder: str
    repeated: bool
    """Whether an earlier run of the same name is there, whose spending adds up with this one's."""
    stages: Mapping[str, int]
    """Length of each stage: fitting steps, training steps of all silos, or rounds."""


@dataclass(frozen=True, slots=True)
class AnswersFound(Internal):
    """The folder has the answers of a job of queries already: nothing is released again."""

    folder: str


@dataclass(frozen=True, slots=True)
class ModelScored(Internal):
    """A global model was measured on held-out data; `round` is None outside rounds."""

    phase: str
    round: int | None
    accuracy: float


@dataclass(frozen=True, slots=True)
class ComparisonProgressed(Internal):
    """`done` of `models` models were measured that the global one is compared with; 0 when it begins."""

    stage: str
    done: int
    models: int


@dataclass(frozen=True, slots=True)
class ProcessStarted(Internal):
    """A party was started as a process of its own."""


@dataclass(frozen=True, slots=True)
class ProcessEnded(Internal):
    """A party's process has ended with this exit code."""

    code: int


ExperimenterEvent = RunOpened | AnswersFound | ModelScored | ComparisonProgressed | ProcessStarted | ProcessEnded
