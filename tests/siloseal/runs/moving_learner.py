"""A learner of a user's own that tells where it is moved to."""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from siloseal.federation.shapes import Shape
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner


class Moving(ModuleLearner[nn.Module]):
    moved: ClassVar[list[torch.device]] = []
    """Devices that learners of this class were moved to, one entry a move."""

    def __init__(self, shape: Shape, classes: int, options: Mapping[str, float]) -> None:
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes)))

    def row_losses(self, rows: LabelledRows) -> Tensor:
        return nn.functional.cross_entropy(self.private_module(rows.inputs), rows.labels, reduction="none")

    def measure(self, rows: LabelledRows) -> float:
        return 0.5

    def to(self, device: torch.device) -> None:
        self.moved.append(device)
        super().to(device)
