"""The lines of metrics.jsonl: what a run measures while it goes, one JSON object a line, distinguished by `kind`."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, NonNegativeFloat, NonNegativeInt, TypeAdapter

from siloseal.federation.job.phases import Phase
from siloseal.run_folder.classification import ClassificationMetric
from siloseal.run_folder.record import Record, Share

PhaseOrQuery = Annotated[str, Field(pattern=rf"^(enrolment|{'|'.join(Phase)}|total|[1-9][0-9]*\. .+)$")]
"""What a cost belongs to: enrolment, a phase of a job, a query by its number and title, or everything."""
Stage = Annotated[
    str,
    Field(
        pattern=rf"^({Phase.WARM_START}|silo_alone|silo_trained|{Phase.PHASE_1}|round_[1-9][0-9]*|final|real|pooled)$"
    ),
]
"""What a model is measured after, or what else is measured to compare it with."""

REFERENCES = ("real", "pooled")
"""Stages that are not those of a global model."""


M = TypeVar("M", bound=Record)


class QualityMetric(Record):
    """The quality of one model; `silo` is None for the global model and for real data.

    The first entry of `accuracy` is the headline.

    >>> last = siloseal.read_run("runs/first").quality[-1]
    >>> all(0 <= accuracy <= 1 for accuracy in last.accuracy.values())
    True
    """

    kind: Literal["quality"] = "quality"
    stage: Stage
    silo: str | None = None
    accuracy: dict[str, Share]
    margin: dict[str, NonNegativeFloat] = Field(default_factory=dict)
    """Half the width of a 95 % confidence interval, of accuracies that are means over tasks."""
    frechet: NonNegativeFloat | None = None
    """Squared Fréchet distance of generated images."""
    classification: ClassificationMetric | None = None
    """What a classifier does class by class and silo by silo; of rounds, the last one has it."""


class TrafficMetric(Record):
    """Bytes as one silo counts them.

    >>> first = siloseal.read_run("runs/first").traffic[0]
    >>> first.silo in ("north", "east", "south"), first.sent_bytes > 0
    (True, True)
    """

    kind: Literal["traffic"] = "traffic"
    stage: PhaseOrQuery
    silo: str
    sent_bytes: NonNegativeInt
    received_bytes: NonNegativeInt


class TimingMetric(Record):
    """Wall-clock time of a phase, or of another named part of the run.

    >>> {timing.stage for timing in siloseal.read_run("runs/first").timing} >= {"phase_1", "phase_2"}
    True
    """

    kind: Literal["timing"] = "timing"
    stage: str
    seconds: NonNegativeFloat


class ProtectionMetric(Record):
    """How one kind of upload travelled, and whether the aggregator could read a single silo's.

    >>> [(upload.stage, upload.hidden_from_aggregator) for upload in siloseal.read_run("runs/first").protection]
    [('phase_1', False), ('phase_2', False)]
    """

    kind: Literal["protection"] = "protection"
    stage: PhaseOrQuery
    what: str
    scheme: str
    hidden_from_aggregator: bool
    note: str = ""


class PrivacyMetric(Record):
    """What a silo's ledger says about one phase, or about all of them. `epsilon` is None when privacy was off.

    >>> spent = siloseal.read_run("runs/first").privacy
    >>> [round(one.epsilon, 1) for one in spent if one.silo == "north" and one.phase == "total"]
    [10.0]
    """

    kind: Literal["privacy"] = "privacy"
    silo: str
    phase: PhaseOrQuery
    epsilon: NonNegativeFloat | None
    delta: Share | None
    accountant: str | None = None
    """How epsilon was counted; None in folders of earlier versions, and where no ledger is here."""
    noise_multiplier: NonNegativeFloat | None = None
    sampling_rate: Share | None = None
    steps: NonNegativeInt | None = None


class NoteMetric(Record):
    """Something a reader of the numbers has to know.

    >>> siloseal.NoteMetric(text="south was silent in round 2").text
    'south was silent in round 2'
    """

    kind: Literal["note"] = "note"
    text: str


Metric = Annotated[
    QualityMetric | TrafficMetric | TimingMetric | ProtectionMetric | PrivacyMetric | NoteMetric,
    Field(discriminator="kind"),
]
METRIC: TypeAdapter[Metric] = TypeAdapter(Metric)


def stage_title(stage: str) -> str:
    """A stage or phase as a person reads it."""
    known: dict[str, str] = {
        Phase.WARM_START: "Warm start", "silo_alone": "Silo alone", "silo_trained": "After local training",
        Phase.PHASE_1: "Phase 1 average", Phase.PHASE_2: "Phase 2", Phase.FEDAVG: "FedAvg", "final": "Final",
        "real": "Real data", "pooled": "Pooled, without privacy", "total": "In total",
    }  # fmt: skip
    return known.get(stage, stage if stage[:1].isdigit() else stage.replace("_", " ").capitalize())


def phase_title(phase: str) -> str:
    """A phase as a person reads it: where "phase 1" means the work, not its average."""
    return "Phase 1" if phase == Phase.PHASE_1 else stage_title(phase)
