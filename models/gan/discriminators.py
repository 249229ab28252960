"""Conditional discriminators: one logit for an image and its label, positive for "real".

They are the only networks of a GAN that see private data, so they are built from what per-row clipping can book-keep:
linear and convolutional layers, each used once, and nothing that mixes rows (no batch norm). Clipping bounds the
gradient anyway; a norm layer would only slow it down.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.gan.labels import beside, one_hot

LEAK = 0.2
SMALLEST_MAP = 4  # a strided convolution halves the map until it is at most this wide


class MlpDiscriminator(nn.Module):
    """Image and one-hot label, concatenated, through two hidden layers: 794-256-128-1 for 28x28, 74-128-64-1 for 8x8.

    The choice for a CPU: book-keeping costs it next to nothing, two orders of magnitude less than a convolution.
    """

    def __init__(self, shape: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        channels, height, width = shape
        inputs = channels * height * width + classes
        hidden = 256 if height * width > 256 else 128
        self.classes = classes
        self.hidden = nn.Linear(inputs, hidden)
        self.narrow = nn.Linear(hidden, hidden // 2)
        self.logit = nn.Linear(hidden // 2, 1)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Logits (rows,) of images (rows, C, H, W) with labels (rows,)."""
        rows = beside(images.flatten(1), labels, self.classes)
        rows = functional.leaky_relu(self.hidden(rows), LEAK)
        rows = functional.leaky_relu(self.narrow(rows), LEAK)
        logits: Tensor = self.logit(rows).squeeze(1)
        return logits


class ConvDiscriminator(nn.Module):
    """Strided convolutions down to a 4x4 map, then one logit (after Bie et al. 2023): 432k parameters for 28x28.

    The label shifts the first convolution's channels. That is what one-hot label planes beside the image would do, at
    a fraction of their cost.
    """

    def __init__(self, shape: tuple[int, int, int], classes: int) -> None:
        super().__init__()
        channels, *side = shape
        self.classes = classes
        self.layout = torch.channels_last  # a CPU convolves it up to twice as fast
        widths: list[int] = [channels]
        convolutions: list[nn.Module] = []
        while not convolutions or max(side) > SMALLEST_MAP:
            widths.append(min(64 * 2 ** len(convolutions), 256))
            # 4x4 on an even side and 3x3 on an odd one: the map halves, rounded up, and every pixel is seen.
            kernel = (4 - side[0] % 2, 4 - side[1] % 2)
            convolutions.append(nn.Conv2d(widths[-2], widths[-1], kernel, stride=2, padding=1))
            side = [(pixels + 1) // 2 for pixels in side]
        self.label_shift = nn.Linear(classes, widths[1], bias=False)
        self.convolutions = nn.ModuleList(convolutions)
        self.logit = nn.Linear(widths[-1] * side[0] * side[1], 1)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        """Logits (rows,) of images (rows, C, H, W) with labels (rows,)."""
        first, *others = self.convolutions
        shift = self.label_shift(one_hot(labels, self.classes, images))  # (rows, 64)
        maps = first(images).contiguous(memory_format=self.layout) + shift[:, :, None, None]
        maps = functional.leaky_relu(maps, LEAK)
        for convolution in others:
            maps = functional.leaky_relu(convolution(maps), LEAK)
        logits: Tensor = self.logit(maps.flatten(1)).squeeze(1)
        return logits
