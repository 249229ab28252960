"""Fixed features: oriented wavelets of the colours. Nothing in them is learnt, so they cost no privacy.

A small private data set teaches a network with noise less than a good choice of features gives for nothing (Tramèr and
Boneh, "Differentially private learning needs better features (or much more data)", ICLR 2021).
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

SIDE = 32
"""Side in pixels to which larger images are averaged down: nothing is lost (measured at 84), and time is saved."""

SCALES = (1.0, 2.0, 4.0)  # in pixels
ORIENTATIONS = 4
ROWS = 32

# Light, red against green, yellow against blue; differences of colour count twice.
OPPONENT = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
COLOUR = 0.5
"""Weight of the mean colours beside the wavelets."""


class Wavelets:
    """Images (N, C, H, W) of 1 or 3 channels to maps (N, `maps`, grid, grid): magnitudes, averaged over its cells."""

    def __init__(self, shape: tuple[int, int, int], grid: int) -> None:
        self._grid = grid
        channels, height, width = shape
        self._size = min(height, SIDE), min(width, SIDE)
        self._banks = [_bank(scale, largest=(min(self._size) - 1) // 2) for scale in SCALES]
        self.maps = channels * (len(SCALES) * ORIENTATIONS + 1)

    def __call__(self, images: Tensor) -> Tensor:
        """The maps, computed for a few images at a time, so that they stay in the processor's cache."""
        with torch.no_grad():
            return torch.cat([self._features(part) for part in torch.split(images, ROWS)])

    def _features(self, images: Tensor) -> Tensor:
        if images.shape[2:] != self._size:
            images = functional.adaptive_avg_pool2d(images, self._size)
        colours = functional.conv2d(images, OPPONENT[:, :, None, None]) if images.shape[1] == 3 else images
        rows, channels, height, width = colours.shape
        planes = colours.reshape(rows * channels, 1, height, width)
        features = [COLOUR * functional.adaptive_avg_pool2d(colours, self._grid).unsqueeze(2)]
        for bank in self._banks:
            reach = bank.shape[-1] // 2
            padded = functional.pad(planes, [reach] * 4, mode="reflect")
            pairs = functional.conv2d(padded, bank, stride=max(1, reach // 4))  # even and odd part of each orientation
            energy = pairs.view(len(pairs), ORIENTATIONS, 2, *pairs.shape[2:]).square().sum(2)
            magnitudes = functional.adaptive_avg_pool2d(
                energy.add(1e-12).sqrt(), self._grid
            ).sqrt()  # the phase is dropped
            features.append(magnitudes.view(rows, channels, ORIENTATIONS, self._grid, self._grid))
        return torch.cat(features, dim=2).flatten(1, 2)


def _bank(scale: float, *, largest: int) -> Tensor:
    """Morlet wavelets (2 * ORIENTATIONS, 1, side, side) of one scale, even and odd part in turn."""
    width, frequency = 0.8 * scale, 0.75 * math.pi / scale
    reach = min(math.ceil(2.5 * width), largest)
    places = torch.arange(-reach, reach + 1, dtype=torch.float32)
    down, across = torch.meshgrid(places, places, indexing="ij")
    filters = list[Tensor]()
    for number in range(ORIENTATIONS):
        angle = math.pi * number / ORIENTATIONS
        along = across * math.cos(angle) + down * math.sin(angle)
        aside = down * math.cos(angle) - across * math.sin(angle)
        envelope = torch.exp(-(along.square() + aside.square() / 4) / (2 * width**2))
        envelope /= envelope.sum()
        even = envelope * torch.cos(frequency * along)
        filters += [even - envelope * even.sum(), envelope * torch.sin(frequency * along)]  # no answer to plain light
    return torch.stack(filters).unsqueeze(1)
