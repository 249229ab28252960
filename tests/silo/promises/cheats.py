"""Learners that break one promise each, in ways that a person could happen to write."""

import itertools
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import siloseal

from . import honest

_COUNTED = itertools.count()


class Plain(siloseal.ModuleLearner[nn.Module]):
    """The honest one that all others are made from."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        decay = options.get("average_decay", 0.0)
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes)), average_decay=decay)

    def losses(self, outputs: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs, labels, reduction="none")

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return self.losses(self.private_module(rows.inputs), rows.labels)


class CentredOnTheBatch(Plain):
    """The mean of the batch is subtracted, and detached, so that no gradient shows it."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        centred = rows.inputs - (rows.inputs.mean(0, keepdim=True).detach() if len(rows.inputs) else 0)
        return self.losses(self.private_module(centred), rows.labels)


class DividedByTheBatch(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) / max(1, len(rows.inputs))


class TurnsWithTheNumber(Plain):
    """The whole batch turns round when one unit goes."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) * (-1) ** len(rows.inputs)


class DividedAutoencoder(honest.Autoencoder):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) / max(1, len(rows.inputs))


class MixedInGradientsAlone(Plain):
    """The losses are right; the gradient of each row carries the batch."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        losses = super().row_losses(rows)
        total = losses.sum()
        return losses + total - total.detach()


class WeightedByLabels(Plain):
    """Rare classes count more: how rare they are is in the others' labels."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        counts = torch.bincount(rows.labels, minlength=10).clamp(min=1)
        return super().row_losses(rows) / counts[rows.labels]


class FollowsTheFirstLabel(Plain):
    """The label of the first row is everybody's."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) * (1 + rows.labels[:1].sum())


class FollowsTheFirstRowInGradientsAlone(Plain):
    """The losses are right; the gradient of each row carries that of the first."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        losses = super().row_losses(rows)
        first = losses[:1].sum()
        return losses + first - first.detach()


class MixesLargeBatches(CentredOnTheBatch):
    """Small batches are left alone."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) if len(rows.inputs) > 8 else Plain.row_losses(self, rows)


class MixesFullPasses(CentredOnTheBatch):
    """Only batches as large as a pass of the trainer are mixed."""

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) if len(rows.inputs) == 64 else Plain.row_losses(self, rows)


class DrawsFromNumpy(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) * float(np.random.rand())  # noqa: NPY002


class DrawsFromPython(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) * random.random()  # noqa: S311


class DrawsFromTheSystem(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows) * float(np.random.default_rng().random())


class OneLossForAll(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        return super().row_losses(rows).mean()


class FailsOnNobody(Plain):
    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        rows.inputs.flatten(1).max(dim=0)
        return super().row_losses(rows)


class KeepsAMean(Plain):
    """The mean of the data is kept in a buffer, as batch norm does."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        super().__init__(shape, classes, options)
        self.private_module.register_buffer("mean", torch.zeros(()))

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        if len(rows.inputs):
            self.private_module.mean += rows.inputs.mean()  # type: ignore[operator]
        return super().row_losses(rows)


class CarriesDataIntoTheVector(Plain):
    """What was seen is remembered, and let out by the step that should see no data."""

    seen = 0.0

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        self.seen = float(rows.inputs.detach().sum())
        return super().row_losses(rows)

    def public_step(self) -> None:
        super().public_step()
        with torch.no_grad():
            next(self.shared_model.parameters())[0, 0] = self.seen


class SharesWhatItSaw(Plain):
    """The rows are kept, and leave in place of weights."""

    seen = torch.zeros(0)

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        self.seen = rows.inputs.detach().reshape(-1)
        return super().row_losses(rows)

    def vector(self) -> Tensor:
        vector = super().vector()
        part = self.seen[: len(vector)]
        vector[: len(part)] = part
        return vector


class ShowsTheLoss(Plain):
    """A progress bar that everyone would like, and that nobody has paid for."""

    last = 0.0

    def row_losses(self, rows: siloseal.LabelledRows) -> Tensor:
        losses = super().row_losses(rows)
        self.last = float(losses.sum())
        return losses

    def public_metrics(self) -> Mapping[str, float]:
        return {"loss": self.last}


class ShowsNoNumber(Plain):
    def public_metrics(self) -> Mapping[str, float]:
        return {"loss": math.nan}


class BeginsAnywhere(Plain):
    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        super().__init__(shape, classes, options)
        self.load(self.vector() + next(_COUNTED))


class BeginsWithNumpy(Plain):
    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        super().__init__(shape, classes, options)
        self.load(self.vector() + float(np.random.rand()))  # noqa: NPY002 (as users write it)


class StepsAnywhere(Plain):
    def public_step(self) -> None:
        super().public_step()
        with torch.no_grad():
            next(self.shared_model.parameters())[0, 0] = next(_COUNTED)


class ForgetsTheStep(Plain):
    """The shared part depends on a counter that no checkpoint has."""

    steps = 0

    def public_step(self) -> None:
        self.steps += 1
        super().public_step()
        with torch.no_grad():
            next(self.shared_model.parameters())[0, 0] = self.steps


class BringsBackHalf(Plain):
    """The weights are brought back; the biases begin anew."""

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        super().load_state({name: torch.zeros_like(part) if "bias" in name else part for name, part in state.items()})


class CountsItsSteps(Plain):
    """A buffer follows the training, as the statistics of batch norm do, and stays behind when vectors are summed."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        super().__init__(shape, classes, options)
        self.shared_model.register_buffer("steps", torch.zeros(()))

    def public_step(self) -> None:
        super().public_step()
        self.shared_model.steps += 1  # type: ignore[operator]


class TakesAnyState(Plain):
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        super().load_state({name: state.get(name, tensor) for name, tensor in self.state().items()})


class VectorGrows(Plain):
    """The vector has one more entry than it takes."""

    def vector(self) -> Tensor:
        return torch.cat([super().vector(), torch.zeros(1)])

    def load(self, vector: Tensor) -> None:
        super().load(vector[: len(super().vector())])


class VectorIsNotFlat(Plain):
    def vector(self) -> Tensor:
        return super().vector().reshape(1, -1)


class TakesAnything(Plain):
    def load(self, vector: Tensor) -> None:
        whole = torch.zeros_like(self.vector())
        part = vector[: len(whole)].nan_to_num()
        whole[: len(part)] = part
        super().load(whole)


class ChecksTooLate(Plain):
    def load(self, vector: Tensor) -> None:
        with torch.no_grad():
            next(self.shared_model.parameters()).fill_(float(vector[0]))
        super().load(vector)


class NeverShares(Plain):
    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        super().__init__(shape, classes, {**options, "average_decay": 0.5})  # what is shared is a copy then

    def public_step(self) -> None:
        """Leave the shared part behind."""


class MeasuresBeyondOne(Plain):
    def measure(self, rows: siloseal.LabelledRows) -> float:
        return 100 * float((self.shared_model(rows.inputs).argmax(1) == rows.labels).float().mean()) + 2


class NormOverTheBatch(Plain):
    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        size = math.prod(shape)
        siloseal.ModuleLearner.__init__(
            self, nn.Sequential(nn.Flatten(), nn.BatchNorm1d(size, track_running_stats=False), nn.Linear(size, classes))
        )


class NormWithStatistics(Plain):
    """Batch norm as most people have it: its statistics are buffers, which no vector carries."""

    def __init__(self, shape: tuple[int, ...], classes: int, options: Mapping[str, Any]) -> None:
        size = math.prod(shape)
        siloseal.ModuleLearner.__init__(
            self, nn.Sequential(nn.Flatten(), nn.BatchNorm1d(size), nn.Linear(size, classes))
        )
