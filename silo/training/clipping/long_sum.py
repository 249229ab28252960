"""Sums over any number of rows, whose rounding does not grow with the number.

Single precision loses bits with every addend: of many equal rows, one moves a long sum by more than the clip norm. So
at most `SINGLE_ROWS` rows are added in it, and these sums are added in double precision, whose rounding is nothing
beside theirs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

SINGLE_ROWS = 1024
"""Most rows that are added in the gradients' own precision. What they lose is measured, and has an allowance."""


class LongSum:
    """The sum of gradients of some rows at a time: at first on their device, then in main memory, as doubles."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._latest = [torch.zeros_like(parameter) for parameter in parameters]
        self._carried: list[Tensor] | None = None
        self._rows = 0

    def add(self, gradients: Sequence[Tensor], *, rows: int) -> None:
        """Add the sum of the gradients of so many rows."""
        if self._rows + rows > SINGLE_ROWS and self._rows:
            self._carried, self._rows = self._doubles(), 0
            for part in self._latest:
                part.zero_()
        for total, part in zip(self._latest, gradients, strict=True):
            total.add_(part)
        self._rows += rows

    def total(self) -> list[Tensor]:
        """The sum: as doubles where there were more rows than single precision adds."""
        return self._latest if self._carried is None else self._doubles()

    def _doubles(self) -> list[Tensor]:
        """All so far. Not every device has doubles, so they lie in main memory."""
        latest = [part.to("cpu", torch.float64, copy=True) for part in self._latest]
        if self._carried is not None:
            for part, carried in zip(latest, self._carried, strict=True):
                part.add_(carried)
        return latest
