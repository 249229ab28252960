"""The base learner that all few-shot learners share: four convolutional blocks."""

import math

from torch import Tensor, nn
from torch.nn import functional

from models.meta.model import Shape
from models.meta.wavelets import GRID, Wavelets

BLOCKS = 4
GROUPS = 8


class Conv4(nn.Module):
    """Four times convolution, group norm, ReLU and 2x2 pooling: images (N, C, H, W) to features (N, F).

    Group norm looks at one image alone, so that an image's gradient is its own, and it keeps no statistics of data that
    could leave a silo. It has no parameters, which clipping by book-keeping would not know.
    """

    def __init__(self, image_shape: Shape, filters: int) -> None:
        super().__init__()
        channels, height, width = image_shape
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

    def __init__(self, image_shape: Shape) -> None:
        super().__init__()
        self._wavelets = Wavelets(image_shape)
        maps = self._wavelets.maps
        self.mixture = nn.Conv2d(maps, maps, kernel_size=1, bias=False)
        nn.init.zeros_(self.mixture.weight)
        self.features = maps * GRID**2

    def forward(self, images: Tensor) -> Tensor:
        maps = functional.group_norm(self._wavelets(images), 1) / math.sqrt(self.features)
        mixed: Tensor = maps + self.mixture(maps)
        return mixed.flatten(1)


def _pooled(side: int) -> int:
    """What four poolings leave of a side, which never becomes less than one pixel."""
    for _ in range(BLOCKS):
        side = max(1, side // 2)
    return side
