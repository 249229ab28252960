"""The built-in classifiers. None of them mixes the examples of a batch, so each can be trained with privacy."""

import math
from typing import assert_never

from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.job.sections.supervised import BuiltInNetwork
from siloseal.federation.shapes import Shape, image_shape
from siloseal.models.classifier.scattering import on_scattering

HIDDEN = 200
"""Units of each of the two hidden layers of `mlp`: as many as in the FedAvg paper's (McMahan et al. 2017)."""
GROUPS = 4
WIDTHS = (16, 32, 64)
"""Channels of the three stages of the residual network."""


def built_in(name: BuiltInNetwork, shape: Shape, classes: int) -> nn.Module:
    """A network for examples of this shape, with one output a class. It draws its weights from torch's generator."""
    inputs = math.prod(shape)
    match name:
        case "logistic":
            return nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes))
        case "mlp":
            hidden = nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
            return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(HIDDEN, classes))
        case "cnn":
            return _convolutions(image_shape(shape)[0], classes)
        case "resnet":
            return ResNet(image_shape(shape)[0], classes)
        case "scattering":
            return on_scattering(shape, classes)
        case _:
            assert_never(name)


def _convolutions(channels: int, classes: int) -> nn.Sequential:
    """Two convolutions with group norms. Adaptive pooling makes the last layer the same for images of any size."""
    return nn.Sequential(
        nn.Conv2d(channels, 16, 5, stride=2, padding=2), nn.GroupNorm(GROUPS, 16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(GROUPS, 32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 16, classes),
    )  # fmt: skip


class ResNet(nn.Module):
    """A small residual network (He et al. 2016), with group norms in place of batch norms."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        first, *_ = WIDTHS
        self.stem = nn.Conv2d(channels, first, 3, padding=1, bias=False)
        pairs = zip((first, *WIDTHS), WIDTHS, strict=False)
        self.blocks = nn.Sequential(*(Residual(before, after, halve=before != after) for before, after in pairs))
        self.head = nn.Linear(WIDTHS[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        maps = functional.relu(self.blocks(self.stem(images)))  # (rows, 64, H / 4, W / 4)
        logits: Tensor = self.head(maps.mean((2, 3)))
        return logits


class Residual(nn.Module):
    """Two convolutions beside a shortcut, norms first."""

    def __init__(self, before: int, after: int, *, halve: bool) -> None:
        super().__init__()
        stride = 2 if halve else 1
        self.norm1, self.norm2 = nn.GroupNorm(GROUPS, before), nn.GroupNorm(GROUPS, after)
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(before, after, 1, stride=stride, bias=False) if halve else nn.Identity()

    def forward(self, maps: Tensor) -> Tensor:
        inner = self.conv1(functional.relu(self.norm1(maps)))
        outer: Tensor = self.conv2(functional.relu(self.norm2(inner))) + self.shortcut(maps)
        return outer
