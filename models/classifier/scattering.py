"""A linear classifier on fixed features: two layers of oriented wavelets, whose magnitudes are averaged over a grid.

Only the linear layer is learnt. The wavelets are constants, so they cost no privacy, and a silo can compute an image's
features once for all steps. A private classifier of few images gains more from good features than from learning
them through noise (Tramèr and Boneh, "Differentially private learning needs better features (or much more data)",
ICLR 2021; the features are the scattering transform of Bruna and Mallat 2013).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.errors import DataError
from siloseal.federation.shapes import Shape, image_shape

SCALES = 2  # J: the wavelets' widths are 1 and 2 pixels, and 2^J pixels make a cell of the grid
ORIENTATIONS = 8
GROUPS = 27
"""Number of groups of an image channel's maps. A group is normalised together, image by image."""
SMALLEST_SIDE = 8
ROWS = 32
"""Images computed at a time, so that their maps stay in the processor's cache."""


class Scattering(nn.Module):
    """Images (N, C, H, W) to maps (N, 81 C, H / 4, W / 4): the magnitudes of wavelets, and of wavelets of those."""

    wavelets_0: Tensor
    wavelets_1: Tensor
    low_pass: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.maps = channels * (1 + SCALES * ORIENTATIONS + ORIENTATIONS**2)
        for scale in range(SCALES):
            self.register_buffer(f"wavelets_{scale}", _wavelets(scale), persistent=False)
        self.register_buffer("low_pass", _low_pass(SCALES), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            if torch.compiler.is_exporting():  # how many parts there are would fix the size of the batch
                return self._maps(images)
            return torch.cat([self._maps(part) for part in torch.split(images, ROWS)])

    def _maps(self, images: Tensor) -> Tensor:
        rows = images.shape[0]  # len() would fix the size of an exported program's batch
        planes = images.flatten(0, 1).unsqueeze(1)  # (N C, 1, H, W)
        fine = _magnitudes(planes, self.wavelets_0, stride=1)  # (N C, 8, H, W)
        coarse = _magnitudes(planes, self.wavelets_1, stride=2)  # (N C, 8, H / 2, W / 2)
        second = _magnitudes(fine.flatten(0, 1).unsqueeze(1), self.wavelets_1, stride=2)  # (8 N C, 8, H / 2, W / 2)
        half = self.low_pass[:, :, ::2, ::2] * 4.0
        parts = [_average(planes, self.low_pass, 4), _average(fine, self.low_pass, 4), _average(coarse, half, 2)]
        parts.append(_average(second.reshape(planes.shape[0], -1, *second.shape[2:]), half, 2))
        return torch.cat(parts, dim=1).reshape(rows, self.maps, *parts[0].shape[2:])


def _magnitudes(planes: Tensor, wavelets: Tensor, *, stride: int) -> Tensor:
    pairs = functional.conv2d(_padded(planes, wavelets.shape[-1] // 2), wavelets, stride=stride)
    even, odd = pairs[:, ::2], pairs[:, 1::2]
    return even.square().add(odd.square()).add(1e-12).sqrt()  # the phase is dropped


def _average(maps: Tensor, window: Tensor, stride: int) -> Tensor:
    planes = maps.flatten(0, 1).unsqueeze(1)
    smooth = functional.conv2d(_padded(planes, window.shape[-1] // 2), window, stride=stride)
    return smooth.reshape(*maps.shape[:2], *smooth.shape[2:])


def _padded(planes: Tensor, reach: int) -> Tensor:
    return functional.pad(planes, [reach] * 4, mode="reflect")


def _places(reach: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(-reach, reach + 1, dtype=torch.float32)
    down, across = torch.meshgrid(places, places, indexing="ij")
    return down, across


def _wavelets(scale: int) -> Tensor:
    """Morlet wavelets (2 * ORIENTATIONS, 1, side, side) of one scale, even and odd part in turn."""
    width, frequency = 0.8 * 2**scale, 0.75 * math.pi / 2**scale
    down, across = _places(math.ceil(3 * width))
    filters = list[Tensor]()
    for number in range(ORIENTATIONS):
        angle = math.pi * number / ORIENTATIONS
        along = across * math.cos(angle) + down * math.sin(angle)
        aside = down * math.cos(angle) - across * math.sin(angle)
        slant = 4.0 / ORIENTATIONS
        envelope = torch.exp(-(along.square() + (slant * aside).square()) / (2 * width**2))
        envelope /= envelope.sum()
        even = envelope * torch.cos(frequency * along)
        filters += [even - envelope * even.sum(), envelope * torch.sin(frequency * along)]  # no answer to plain light
    return torch.stack(filters).unsqueeze(1)


def _low_pass(scale: int) -> Tensor:
    width = 0.8 * 2 ** (scale - 1)
    down, across = _places(2 * math.ceil(3 * width / 2))
    window = torch.exp(-(down.square() + across.square()) / (2 * width**2))
    return (window / window.sum())[None, None]


def on_scattering(shape: Shape, classes: int) -> nn.Sequential:
    """The classifier for images of this shape. All that is learnt is its last layer."""
    channels, height, width = image_shape(shape)
    if min(height, width) < SMALLEST_SIDE:
        raise DataError(
            f"images are {height}x{width} pixels, but wavelets reach over {SMALLEST_SIDE}; set data.side, or choose "
            "learner.model logistic or mlp"
        )
    features = Scattering(channels)
    with torch.no_grad():
        size = features(torch.zeros(1, *shape)).numel()
    norm = nn.GroupNorm(GROUPS * channels, features.maps, affine=False)
    return nn.Sequential(features, norm, nn.Flatten(), nn.Linear(size, classes))
