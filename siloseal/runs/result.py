"""What a federation leaves behind when it has run to its end, whatever carried its messages."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.deployed import GLOBAL_MODEL, OUTCOME_FILE
from siloseal.aggregator.traffic import Counted
from siloseal.federation.job.job import Job
from siloseal.federation.run_events.aggregator import Shape
from siloseal.models.building import SharedModel, load_model, read_model
from siloseal.runs.metrics import TrafficMetric


@dataclass(frozen=True)
class RunResult:
    """The global model, and what a report says of how it came about."""

    network: SharedModel
    parameters: int
    """Number of parameters of the shared model."""
    image_shape: Shape
    classes: int
    traffic: list[TrafficMetric]
    notes: list[str]


def from_outcome(job: Job, outcome: Outcome, counted: Sequence[Counted]) -> RunResult:
    """The result of a run in this process."""
    traffic = [TrafficMetric.model_validate(asdict(entry)) for entry in counted]
    network = load_model(job, outcome.image_shape, outcome.classes, outcome.model)
    return RunResult(network, outcome.model.size, outcome.image_shape, outcome.classes, traffic, [*outcome.notes])


def from_state(folder: Path) -> RunResult:
    """The result of a deployed aggregator, from the folder that it left."""
    document = json.loads((folder / OUTCOME_FILE).read_text())
    channels, height, width = document["image_shape"]
    return RunResult(
        network=read_model(folder / GLOBAL_MODEL),
        parameters=document["parameters"],
        image_shape=(channels, height, width),
        classes=document["classes"],
        traffic=[TrafficMetric.model_validate(entry) for entry in document["traffic"]],
        notes=document["notes"],
    )
