"""From stored pixels to tensors in [0, 1], and from one size to another."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from siloseal.federation.errors import DataError


def unit_range(stored: NDArray[np.generic], origin: str) -> Tensor:
    """Pixels as float32, scaled by what their type can hold; floats must lie in [0, 1] already.

    Scaling by the type and not by the largest value keeps silos comparable: a silo of dark images stays dark.
    """
    if stored.dtype == np.bool_ or stored.dtype.kind == "f":
        pixels = torch.from_numpy(stored.astype(np.float32))
        low, high = (float(bound) for bound in torch.aminmax(pixels)) if pixels.numel() else (0.0, 1.0)
        if not (low >= 0 and high <= 1):
            raise DataError(f"pixels run from {low:g} to {high:g}, expected [0, 1]; rescale the images")
        return pixels
    if stored.dtype.kind == "u" and stored.dtype.itemsize <= 2:  # uint8, uint16
        return torch.from_numpy(stored.astype(np.float32)).div_(2 ** (8 * stored.dtype.itemsize) - 1)
    raise DataError(
        f"{origin} holds pixels of type {stored.dtype}, expected uint8, uint16, bool or floats in [0, 1]; "
        "convert them, because the range of this type says nothing about the range of the pixels"
    )


def resize(images: Tensor, side: int) -> Tensor:
    """Images (N, C, H, W) to (N, C, side, side). They are antialiased, or shrinking would skip pixels."""
    if images.shape[2:] == (side, side):
        return images
    resized = interpolate(images, size=(side, side), mode="bilinear", align_corners=False, antialias=True)
    return resized.clamp_(0.0, 1.0)  # rounding can leave the range by an ulp
