"""What a federation leaves behind when it has run to its end, whatever carried its messages."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.deployed import GLOBAL_MODEL
from siloseal.aggregator.traffic import Counted
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.run_events.aggregator import Shape
from siloseal.models.building import SharedModel, load_model, read_model
from siloseal.runs.metrics import TrafficMetric
from siloseal.runs.summary import read_run


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
    run = read_run(folder)
    if (model := run.summary.model) is None:
        raise RunError(f"{folder / 'summary.json'} does not describe the model; run the job again with this version")
    return RunResult(
        network=read_model(folder / GLOBAL_MODEL),
        parameters=model.parameters,
        image_shape=model.image_shape,
        classes=model.classes,
        traffic=run.traffic,
        notes=run.summary.warnings,
    )
