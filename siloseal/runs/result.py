"""What a federation leaves behind when it has run to its end, whatever carried its messages."""

import json
from dataclasses import dataclass
from pathlib import Path

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.deployed import GLOBAL_MODEL, OUTCOME_FILE
from siloseal.aggregator.observer import Shape
from siloseal.federation.job.job import Job
from siloseal.models.building import SharedModel, load_model, read_model
from siloseal.runs.metrics import TrafficMetric


@dataclass(frozen=True)
class RunResult:
    """The global model, and what a report says of how it came about."""

    network: SharedModel
    parameters: int
    """Of the shared model."""
    image_shape: Shape
    classes: int
    traffic: list[TrafficMetric]
    notes: list[str]


def from_outcome(job: Job, outcome: Outcome) -> RunResult:
    """Of a run in this process."""
    traffic = [TrafficMetric.model_validate(entry) for entry in outcome.dispatcher.traffic()]
    network = load_model(job, outcome.image_shape, outcome.classes, outcome.model)
    return RunResult(network, outcome.model.size, outcome.image_shape, outcome.classes, traffic, [*outcome.notes])


def from_state(folder: Path) -> RunResult:
    """Of a deployed aggregator, from the folder that it left."""
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
