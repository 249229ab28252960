"""The base learner that all few-shot learners share, four convolutional blocks, and two that begin with wavelets."""

import math
from typing import assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.job.sections.few_shot import Network
from siloseal.federation.shapes import ImageShape
from siloseal.models.meta.wavelets import Wavelets

BLOCKS = 4
GROUPS = 8
GRID = 4
"""Number of cells a side of the grid over which fixed features are averaged."""

LENGTH = math.sqrt(10.0)
"""Length of features on wavelets: prototypical scores are squared distances, and too small ones teach little."""


class Conv4(nn.Module):
    """Four times convolution, group norm, ReLU and 2x2 pooling: images (N, C, H, W) to features (N, F).

    Group norm looks at one image alone, so that an image's gradient is its own, and it keeps no statistics of data that
    could leave a silo. It has no parameters: noise would have more to spoil, and the next convolution can scale.
    """

    def __init__(self, shape: ImageShape, filters: int) -> None:
        super().__init__()
        channels, height, width = shape
        self.blocks = nn.ModuleList(
            nn.Conv2d(channels if block == 0 else filters, filters, kernel_size=3, padding=1) for block in range(BLOCKS)
        )
        self._groups = math.gcd(GROUPS, filters // 4)  # four channels or more: one alone would be nothing but its sign
        self.features = filters * _pooled(height) * _pooled(width)

    def forward(self, images: Tensor) -> Tensor:
        maps = images
        for convolution in self.blocks:
            maps = functional.relu(functional.group_norm(convolution(maps), self._groups))
            maps = functional.max_pool2d(maps, tuple(min(2, side) for side in maps.shape[2:]))
        return maps.flatten(1)


class WaveletBody(nn.Module):
    """Fixed wavelet features, and a learnt mixture of them beside them: images (N, C, H, W) to features (N, F).

    The mixture is one small matrix for all places, and starts at zero: so the first step already begins from features
    that are good for something, and the noise of private steps has few parameters to spoil.
    """

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        self._wavelets = Wavelets(shape, GRID)
        maps = self._wavelets.maps
        self.mixture = nn.Conv2d(maps, maps, kernel_size=1, bias=False)
        nn.init.zeros_(self.mixture.weight)
        self.features = maps * GRID**2

    def forward(self, images: Tensor) -> Tensor:
        maps = _unit_rows(self._wavelets(images))
        mixed: Tensor = maps + self.mixture(maps)
        return LENGTH * mixed.flatten(1)


class WaveletConvBody(nn.Module):
    """Two convolutional blocks on fixed wavelet maps, beside the fixed features: images (N, C, H, W) to (N, F).

    For images that are enough to learn from without noise, but too few to learn what wavelets know already.
    """

    def __init__(self, shape: ImageShape, filters: int) -> None:
        super().__init__()
        self._wavelets = Wavelets(shape, 4 * GRID)
        self.blocks = nn.ModuleList(
            nn.Conv2d(channels, filters, kernel_size=3, padding=1) for channels in (self._wavelets.maps, filters)
        )
        self._channels, self._groups = shape[0], math.gcd(GROUPS, filters // 4)
        self.features = (self._wavelets.maps + filters) * GRID**2

    def forward(self, images: Tensor) -> Tensor:
        maps = self._wavelets(images)
        fixed, learnt = functional.adaptive_avg_pool2d(maps, GRID), functional.group_norm(maps, self._channels)
        for convolution in self.blocks:
            learnt = functional.relu(functional.group_norm(convolution(learnt), self._groups))
            learnt = functional.max_pool2d(learnt, 2)
        rows = [_unit_rows(fixed).flatten(1), learnt.flatten(1) / math.sqrt(math.prod(learnt.shape[1:]))]
        return LENGTH * torch.cat(rows, dim=1)


def build_body(network: Network, shape: ImageShape, filters: int) -> Conv4 | WaveletBody | WaveletConvBody:
    """The network of this name."""
    match network:
        case "conv4":
            return Conv4(shape, filters)
        case "wavelets":
            return WaveletBody(shape)
        case "wavelets_conv":
            return WaveletConvBody(shape, filters)
        case _:
            assert_never(network)


def _unit_rows(maps: Tensor) -> Tensor:
    """Each image's maps with mean 0 and length 1."""
    return functional.group_norm(maps, 1) / math.sqrt(math.prod(maps.shape[1:]))


def _pooled(side: int) -> int:
    """The pixels that four poolings leave of a side, which never becomes less than one."""
    for _ in range(BLOCKS):
        side = max(1, side // 2)
    return side
