"""Conditional generators: images in [0, 1] from noise and labels.

They have no batch norm: its running statistics are no parameters, so an average of generators would not average them,
and they mix the rows of a batch. They have few parameters, because every one is encrypted and sent.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from siloseal.models.gan.labels import beside

DARK = -2.0  # the last bias: the output starts near 0.1, as most pixels of a dark background are
BLOCK = 4  # side of the block of pixels that each cell of the last map becomes
LARGEST_COARSE_SIDE = 8
SMALL_PIXELS = 256  # up to this number, half the units are enough
LEAK = 0.2


class ConvGenerator(nn.Module):
    """A coarse map from noise and label, convolved, every cell of which becomes a block of pixels.

    All convolutions work on maps of a quarter of the image's side and the blocks are one rearrangement (sub-pixel
    convolution, Shi et al. 2016), which on a CPU is several times faster than transposed convolutions up to full size.
    28x28 grows from a 7x7 map; larger images double a map of at most 8x8 until it is a quarter of them.
    """

    def __init__(
        self, *, shape: tuple[int, int, int], classes: int, latent: int, width: int = 32, hidden: int = 128
    ) -> None:
        super().__init__()
        channels, *sides = shape
        blocks = math.ceil(max(sides) / BLOCK)
        doublings = max(0, math.ceil(math.log2(blocks / LARGEST_COARSE_SIDE)))
        self.shape, self.classes, self.latent = shape, classes, latent
        self.coarse_shape = (width, *(math.ceil(side / (BLOCK * 2**doublings)) for side in sides))
        self.hidden = nn.Linear(latent + classes, hidden)
        self.coarse = nn.Linear(hidden, math.prod(self.coarse_shape))
        self.doublings = nn.ModuleList(nn.Conv2d(width, 4 * width, 3, padding=1) for _ in range(doublings))
        self.refine = nn.Conv2d(width, width, 3, padding=1)
        self.blocks = nn.Conv2d(width, channels * BLOCK**2, 3, padding=1)
        _start_dark(self.blocks.bias)

    def forward(self, z: Tensor, labels: Tensor) -> Tensor:
        """Images (rows, C, H, W) from noise (rows, latent) and labels (rows,)."""
        rows = F.relu(self.hidden(beside(z, labels, self.classes)))
        maps = F.relu(self.coarse(rows)).view(-1, *self.coarse_shape)  # (rows, width, h, w)
        for double in self.doublings:
            maps = F.relu(F.pixel_shuffle(double(maps), 2))
        logits = F.pixel_shuffle(self.blocks(F.relu(self.refine(maps))), BLOCK)
        _, height, width = self.shape
        return torch.sigmoid(logits[:, :, :height, :width])  # sides that are no multiple of a block are cut


class MlpGenerator(nn.Module):
    """Two hidden layers: 26-64-128-64 for 8x8 digits, 26-128-256-784 for 28x28.

    Leaky, because from a cold start its images gained variety in fewer steps than those of a rectified one.
    """

    def __init__(self, *, shape: tuple[int, int, int], classes: int, latent: int) -> None:
        super().__init__()
        hidden = 128 if math.prod(shape[1:]) > SMALL_PIXELS else 64
        self.shape, self.classes, self.latent = shape, classes, latent
        self.hidden = nn.Linear(latent + classes, hidden)
        self.wide = nn.Linear(hidden, 2 * hidden)
        self.pixels = nn.Linear(2 * hidden, math.prod(shape))
        _start_dark(self.pixels.bias)

    def forward(self, z: Tensor, labels: Tensor) -> Tensor:
        """Images (rows, C, H, W) from noise (rows, latent) and labels (rows,)."""
        rows = F.leaky_relu(self.hidden(beside(z, labels, self.classes)), LEAK)
        return torch.sigmoid(self.pixels(F.leaky_relu(self.wide(rows), LEAK))).view(-1, *self.shape)


Generator = ConvGenerator | MlpGenerator


def _start_dark(bias: Tensor | None) -> None:
    if bias is not None:
        nn.init.constant_(bias, DARK)
