"""What a federation leaves behind when it has run to its end, whatever carried its messages."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import nn

from siloseal.aggregator.traffic import Counted
from siloseal.aggregator.training import TrainedModel
from siloseal.federation.errors import RunError
from siloseal.federation.shapes import Shape
from siloseal.models.model_files import GLOBAL_MODEL, read_model
from siloseal.run_folder.metrics import TrafficMetric
from siloseal.run_folder.run import read_run


@dataclass(frozen=True)
class RunResult:
    """The global model, and what a report says of how it came about."""

    network: nn.Module
    parameters: int
    """Number of parameters of the shared model."""
    shape: Shape
    classes: int
    traffic: list[TrafficMetric]
    notes: list[str]


def from_trained(trained: TrainedModel, notes: Sequence[str], counted: Sequence[Counted]) -> RunResult:
    """The result of a run in this process."""
    return RunResult(
        trained.network(),
        trained.model.size,
        trained.shape,
        trained.classes,
        as_metrics(counted),
        [*notes],
    )


def as_metrics(counted: Sequence[Counted]) -> list[TrafficMetric]:
    """Counted bytes as lines of metrics.jsonl."""
    return [TrafficMetric.model_validate(asdict(entry)) for entry in counted]


def from_state(folder: Path, *, code: str | None) -> RunResult:
    """The result of a deployed aggregator, from the folder that it left; `code` is the target that its job names."""
    run = read_run(folder)
    if (model := run.summary.model) is None:
        raise RunError(f"{folder / 'summary.json'} does not describe the model; run the job again with this version")
    return RunResult(
        network=read_model(folder / GLOBAL_MODEL, code=code).network,
        parameters=model.parameters,
        shape=model.shape,
        classes=model.classes,
        traffic=run.traffic,
        notes=run.summary.warnings,
    )
