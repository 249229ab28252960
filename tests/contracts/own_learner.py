"""A learner of a user's own, as short as it can be: the network's outputs are drawn to one number."""

import math
from collections.abc import Mapping

from torch import Tensor, nn

from siloseal.federation.shapes import Shape
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner


class Halves(ModuleLearner[nn.Module]):
    def __init__(self, shape: Shape, classes: int, options: Mapping[str, float]) -> None:
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes)))
        self._target = options["target"]

    def row_losses(self, rows: LabelledRows) -> Tensor:
        return (self.private_module(rows.inputs) - self._target).square().sum(1)

    def measure(self, rows: LabelledRows) -> float:
        return float((self.shared_model(rows.inputs) - self._target).abs().mean().clamp(0, 1))
