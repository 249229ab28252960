"""Sums over rows in double precision, so that one row more or less moves them by no more than what it adds.

Single precision rounds every sum of a few rows anew as soon as one of them goes, and rows that are chosen for it make
all these roundings point one way: among 32,000 rows of one linear layer, one moved a clipped sum by 1.06 clip norms,
and among 8,192 sequences by 1.6. The bound on what is left is in `federation/privacy/mechanisms/gaussian_noise.py`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def doubled(part: Tensor) -> Tensor:
    """The tensor in double precision, in main memory where its device has none."""
    return part.cpu().double() if part.device.type == "mps" else part.double()


class LongSum:
    """The sum of the gradients of some rows at a time, as doubles."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._total = [doubled(torch.zeros_like(parameter)) for parameter in parameters]

    def add(self, gradients: Sequence[Tensor]) -> None:
        """Add the sum of the gradients of some rows."""
        for total, part in zip(self._total, gradients, strict=True):
            total.add_(part)

    def total(self) -> list[Tensor]:
        """The sum so far."""
        return self._total
