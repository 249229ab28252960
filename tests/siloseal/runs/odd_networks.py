"""Networks of a user's own that are hard to export or to train, each for a reason of its own."""

import math

import torch
from torch import nn
from torch.nn import functional


class Untraceable(nn.Module):
    """A network whose course depends on the numbers themselves."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(inputs, classes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.layer(rows) if float(rows.sum()) > 0 else self.layer(-rows)
        return outputs


def untraceable(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Untraceable(shape[0], classes)


class InParts(nn.Linear):
    """A network that takes one row at a time."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__(shape[0], classes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.cat([functional.linear(row, self.weight, self.bias) for row in torch.split(rows, 1)])


class ByTheBatch(InParts):
    """A network that divides by the size of the batch, as a number."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.linear(rows, self.weight, self.bias) / len(rows)


class Drawing(InParts):
    """A network that draws numbers."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.linear(rows + torch.rand_like(rows), self.weight, self.bias)


def mixing(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A network that mixes the examples of a batch."""
    inputs = math.prod(shape)
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(inputs, track_running_stats=False), nn.Linear(inputs, classes))


def forgetful(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A network that draws from the process's generator in every pass of training."""
    inputs = math.prod(shape)
    hidden = [layer for _ in range(8) for layer in (nn.Dropout(0.1), nn.Linear(inputs, inputs), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(inputs, classes))
