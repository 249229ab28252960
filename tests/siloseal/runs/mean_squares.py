"""A learner of a user's own for measured targets: one number a record, by least squares."""

import math
from collections.abc import Mapping

from torch import Tensor, nn

from siloseal.federation.shapes import Shape
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner


class MeanSquares(ModuleLearner[nn.Module]):
    def __init__(self, shape: Shape, classes: int, options: Mapping[str, float]) -> None:
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 1)), average_decay=0.9)

    def row_losses(self, rows: LabelledRows) -> Tensor:
        return (self.private_module(rows.inputs).squeeze(1) - rows.labels).square()

    def measure(self, rows: LabelledRows) -> float:
        """The part of the targets' variance that is explained, at least 0."""
        errors = (self.shared_model(rows.inputs).squeeze(1) - rows.labels).square().mean()
        return float((1 - errors / rows.labels.var(correction=0)).clamp(0, 1))
