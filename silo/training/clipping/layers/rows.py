"""The contract of one layer's rows, and the rows of a layer whose gradients are small enough to be written down.

In shapes: B rows, I inputs, O outputs; a layer that works position by position has L positions, and K inputs to each.
"""

from collections.abc import Mapping
from math import sqrt
from typing import Protocol

import torch
from torch import Tensor

SMALLEST = 2.0**-126
"""Smallest normal number in single precision: products below it may count as zero."""

BLOCK_ROWS = 32  # measured: 16 to 64 are equally fast, all 256 rows of a batch at once take twice as long

Gradients = dict[str, Tensor]
"""Gradients of a layer's trained parameters, summed over rows, by the parameters' names within the layer."""


class LayerRows(Protocol):
    """What one layer contributed to a batch's gradient, row by row."""

    def squared_norms(self) -> Tensor:
        """The squared norms (B,) of each row's gradient of all trained parameters of the layer, in double precision.

        They are bounds from above, up to rounding. A row whose norm cannot be told has infinity or NaN.
        """

    def weighted_sum(self, weights: Tensor) -> Gradients:
        """The sum of the rows' gradients, each times its entry of `weights` (B,)."""

    def without(self, rows: Tensor) -> "LayerRows":
        """The same, where the rows that this mask (B,) marks have no gradient at all."""

    def only(self, rows: slice) -> "LayerRows":
        """These rows and no others."""

    def sources(self) -> list[Tensor]:
        """All that the rows' gradients are computed from, each (B, ...)."""


class WrittenRows:
    """Every row's gradient, written down: `rows[name]` has shape (B, *shape of the parameter)."""

    def __init__(self, rows: Mapping[str, Tensor]) -> None:
        self._rows = rows

    def squared_norms(self) -> Tensor:
        first, *others = (squares(rows.flatten(1)) for rows in self._rows.values())
        for other in others:
            first = first + other
        return first

    def weighted_sum(self, weights: Tensor) -> Gradients:
        return {name: (weights.to(rows) @ rows.flatten(1)).view(rows.shape[1:]) for name, rows in self._rows.items()}

    def without(self, rows: Tensor) -> "WrittenRows":
        return WrittenRows({name: zeroed(rows, part) for name, part in self._rows.items()})

    def only(self, rows: slice) -> "WrittenRows":
        return WrittenRows({name: part[rows] for name, part in self._rows.items()})

    def sources(self) -> list[Tensor]:
        return list(self._rows.values())


def zeroed(rows: Tensor, part: Tensor) -> Tensor:
    """The tensor with these rows set to zero; multiplying by zero would leave infinities and NaN in place."""
    return part.masked_fill(rows.to(part.device).view(-1, *[1] * (part.ndim - 1)), 0.0)


def squares(rows: Tensor) -> Tensor:
    """Squared norms (B,) of rows (B, N), bounded from above.

    In single precision the square of an entry below 2^-63 is lost, which a huge input may stand against in a product
    of norms. All that is lost, N 2^-126 at most, is added to the norm. Norms from 2^64 on are infinite.
    """
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return (doubled(norms) + sqrt(rows.shape[1] * SMALLEST)).square()


def doubled(part: Tensor) -> Tensor:
    """The tensor in double precision, in main memory where its device has none."""
    return part.cpu().double() if part.device.type == "mps" else part.double()


def gram_squares(inputs: Tensor, derivatives: Tensor, *, bias_input: float, total: torch.dtype) -> Tensor:
    """Squared norms (B,) of the sums over positions l of derivatives[l] inputs[l]^T, from two L x L matrices a row.

    |G^T P|^2 = <P P^T, G G^T> for inputs P (B, L, K) and derivatives G (B, L, O), so the O x K gradients are never
    written down (Bu, Mao and Xu 2022, "mixed ghost clipping").

    Where positions cancel, rounding may take the whole inner product away, and a row whose norm comes out too small is
    clipped too little. So the norm is bounded from above: every square gets the largest error that it can hold.
    The L^2 products of a row are added up as `total`; in double precision they add no error. And every entry of the two
    matrices and every product may have lost K + O numbers below 2^-126 each, beside factors up to |P_l| |P_m|.
    """
    outer = torch.bmm(derivatives, derivatives.mT)  # (B, L, L)
    inner = torch.bmm(inputs, inputs.mT) + bias_input  # a bias is one more input, of 1
    terms = inputs.shape[2] + derivatives.shape[2] + (derivatives.shape[1] ** 2 if total == inner.dtype else 2)
    ins, outs = (doubled(matrices.diagonal(dim1=1, dim2=2)).sqrt() for matrices in (inner, outer))  # |P_l|, |G_l|
    product = doubled((inner * outer).sum((1, 2), dtype=total)).clamp(min=0.0)
    lost = (inputs.shape[2] + derivatives.shape[2] + 1) * SMALLEST * (ins + outs + 1).sum(1).square()
    return product + terms * torch.finfo(inner.dtype).eps * (ins * outs).sum(1).square() + lost


def gram_needs_less(positions: int, inputs: int, outputs: int) -> bool:
    """Whether the two Gram matrices of a row need fewer multiplications than its written gradient."""
    return positions * (inputs + outputs) < inputs * outputs
