"""Events by which the aggregator's own parts keep up with a run. They become no line: some carry a model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.run_events.kinds import Internal
from siloseal.federation.shapes import Shape

Model = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RunBegan(Internal):
    """The coordinator begins with its first request: in a new run, or in one that is played again from its journal."""


@dataclass(frozen=True, slots=True)
class RequestReplayed(Internal):
    """Replies to this request are in the journal: all events up to here were published before a restart."""

    number: int
    what: str


@dataclass(frozen=True, slots=True)
class ReplayEnded(Internal):
    """What the journal had is over: from here on everything is new."""


@dataclass(frozen=True, slots=True)
class SilosEnrolled(Internal):
    """Everyone is there; this is what the silos' data look like."""

    shape: Shape
    classes: int


@dataclass(frozen=True, slots=True)
class RoundBegan(Internal):
    """A round of tuning or averaging, a query, or an average of scripts begins, the first with number 1."""

    number: int


@dataclass(frozen=True, slots=True)
class BytesCounted(Internal):
    """One request and its reply, as the silo counts them: what it sent and what it received."""

    stage: str
    silo: str
    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True, slots=True)
class NoteTaken(Internal):
    """Something that a reader of the run's result has to know."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ModelReleased(Internal):
    """A stage ends with this global model."""

    stage: str
    model: Model


CoordinationEvent = (
    RunBegan | RequestReplayed | ReplayEnded | SilosEnrolled | RoundBegan | BytesCounted | NoteTaken | ModelReleased
)
