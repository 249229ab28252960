"""Images whose classes still have names, before two splits are numbered as one.

Few-shot data sets come as splits of different classes. Their images are kept in eight bits a channel, as their files
are: a quarter of the memory of floats, and the same values whether they were just decoded or come from a cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pictures import Colour, Picture, decode
from siloseal.silo.data.pixels import resize, unit_range

Listed = tuple[str, Picture]
"""A picture and the name of its class."""

_AT_ONCE = 512  # images that are floats at one time while they are resized


@dataclass(frozen=True, eq=False, repr=False)
class NamedImages:
    """Images with their classes' names. It prints its shape only: the pixels are somebody's."""

    pixels: NDArray[np.uint8]  # (N, C, H, W)
    labels: NDArray[np.int64]  # (N,), places in `names`
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.pixels.dtype != np.uint8 or self.pixels.ndim != 4 or self.labels.dtype != np.int64:
            raise DataError(f"found {self.pixels.dtype} of shape {self.pixels.shape}, expected uint8 (N, C, H, W)")
        if self.labels.shape != self.pixels.shape[:1]:
            raise DataError(
                f"found {len(self.pixels)} images and labels of shape {self.labels.shape}, expected as many"
            )
        if len(set(self.names)) != len(self.names):
            raise DataError("a class is named twice, expected each once; rename one")
        if not np.array_equal(np.unique(self.labels), np.arange(len(self.names))):
            raise DataError(f"the labels are not those of {len(self.names)} classes with an image each")

    def __repr__(self) -> str:
        return f"NamedImages({len(self.labels)} images of {self.pixels.shape[1:]}, {len(self.names)} classes)"


def decode_all(listed: Sequence[Listed], *, side: int, colour: Colour) -> NamedImages:
    """Every picture at side x side; classes in alphabetical order."""
    names = tuple(sorted({name for name, _ in listed}))
    place = {name: label for label, name in enumerate(names)}
    pixels = np.empty((len(listed), 1 if colour == "grey" else 3, side, side), dtype=np.uint8)
    for row, (_, picture) in zip(pixels, listed, strict=True):
        row[:] = _eight_bits(decode(picture, side=side, colour=colour))
    return NamedImages(pixels, np.array([place[name] for name, _ in listed], dtype=np.int64), names)


def resized(pixels: NDArray[np.uint8], side: int, origin: str) -> NDArray[np.uint8]:
    """Images (N, C, H, W) to (N, C, side, side), some at a time, because floats take four times the memory."""
    if pixels.shape[2:] == (side, side):
        return pixels
    result = np.empty((*pixels.shape[:2], side, side), dtype=np.uint8)
    for start in range(0, len(pixels), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        result[some] = _eight_bits(resize(unit_range(pixels[some], origin), side))
    return result


def numbered(train: NamedImages, held_out: NamedImages) -> tuple[Examples, Examples]:
    """Both splits in one numbering, training classes first. A class in both would be no test of new classes."""
    if shared := sorted(set(train.names) & set(held_out.names)):
        raise DataError(
            f"{len(shared)} classes are in the training and in the held-out split, the first being {shared[0]!r}, "
            "expected none; move each class to one split"
        )
    classes = len(train.names) + len(held_out.names)
    return (
        Examples(unit_range(train.pixels, "the training split"), torch.from_numpy(train.labels), classes),
        Examples(
            unit_range(held_out.pixels, "the held-out split"),
            torch.from_numpy(held_out.labels + len(train.names)),
            classes,
        ),
    )


def _eight_bits(images: Tensor) -> NDArray[np.uint8]:
    """The images in eight bits, by numpy: torch shares even one picture's rounding among threads, which is slower."""
    scaled: NDArray[np.float32] = images.numpy() * 255
    return np.rint(scaled).astype(np.uint8)
