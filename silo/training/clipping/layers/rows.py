"""The contract of one layer's rows, and the rows of a layer whose gradients are small enough to be written down.

In shapes: B rows, I inputs, O outputs; a layer that works position by position has L positions, and K inputs to each.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from math import sqrt
from operator import iadd
from typing import Protocol

import torch
from torch import Tensor

from siloseal.silo.training.clipping.long_sum import doubled

SMALLEST = 2.0**-126
"""Smallest normal number in single precision: products below it may count as zero."""

BLOCK_ROWS = 32  # measured: 16 to 64 are equally fast, all 256 rows of a batch at once take twice as long

NORM_ENTRIES = 256
"""Most squares that are added up in single precision."""

CACHED_ENTRIES = 2**17
"""Doubles that stay in the processor's cache."""

KEPT_BYTES = 32 * 2**20
"""Memory that the written gradients of one layer may take until the norms of all layers are known."""

Gradients = dict[str, Tensor]
"""Gradients of a layer's trained parameters, summed over rows, by the parameters' names within the layer."""


class LayerRows(Protocol):
    """What one layer contributed to a batch's gradient, row by row."""

    def squared_norms(self) -> Tensor:
        """The squared norms (B,) of each row's gradient of all trained parameters of the layer, in double precision.

        They are bounds from above, up to rounding. A row whose norm cannot be told has infinity or NaN.
        """

    def weighted_sum(self, weights: Tensor) -> Gradients:
        """The sum of the rows' gradients, each times its entry of `weights` (B,), which are doubles, in doubles."""

    def without(self, rows: Tensor) -> "LayerRows":
        """The same, where the rows that this mask (B,) marks have no gradient at all."""

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
        return {name: _combined(weights, rows.flatten(1)).view(rows.shape[1:]) for name, rows in self._rows.items()}

    def without(self, rows: Tensor) -> "WrittenRows":
        return WrittenRows({name: zeroed(rows, part) for name, part in self._rows.items()})

    def sources(self) -> list[Tensor]:
        return list(self._rows.values())


def sum_of(parts: Iterable[Tensor]) -> Tensor:
    """The sum of at least one tensor, one after the other, added into the first."""
    return reduce(iadd, parts)


def zeroed(rows: Tensor, part: Tensor) -> Tensor:
    """The tensor with these rows set to zero; multiplying by zero would leave infinities and NaN in place."""
    return part.masked_fill(rows.to(part.device).view(-1, *[1] * (part.ndim - 1)), 0.0)


def squares(rows: Tensor) -> Tensor:
    """Squared norms (B,) of rows (B, N), bounded from above.

    In single precision the square of an entry below 2^-63 is lost, which a huge input may stand against in a product
    of norms. All that is lost, N 2^-126 at most, is added to the norm. Norms from 2^64 on are infinite.

    Beside large squares small ones are lost, too: of a million entries two thousandths of the norm. So only
    `NORM_ENTRIES` are added up in single precision, which loses 2^-16 of the norm at most, in every part alike.
    """
    length = rows.shape[1]
    whole = length - length % NORM_ENTRIES
    parts = [rows[:, :whole].reshape(len(rows), -1, NORM_ENTRIES), rows[:, None, whole:]]
    norms = torch.cat([torch.linalg.vector_norm(part, dim=2) for part in parts], dim=1)
    total: Tensor = torch.linalg.vector_norm(doubled(norms), dim=1)
    return (total + sqrt(length * SMALLEST)).square()


def _combined(weights: Tensor, rows: Tensor) -> Tensor:
    """Rows (B, N) times weights (B,), added up; some entries at a time, whose doubles stay in the cache."""
    entries = max(1, CACHED_ENTRIES // max(1, len(rows)))
    return torch.cat([weights @ doubled(part) for part in torch.split(rows, entries, dim=1)])


def outer_sum(weights: Tensor, derivatives: Tensor, inputs: Tensor) -> Tensor:
    """The sum (O, I) over rows and positions of weight * derivatives^T inputs, of (B, ..., O) and (B, ..., I)."""
    scaled = doubled(derivatives) * weights.view(-1, *[1] * (derivatives.ndim - 1))
    return scaled.flatten(0, -2).T @ doubled(inputs).flatten(0, -2)


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


def are_worth_writing(kept_bytes: int, *, positions: int, inputs: int, outputs: int) -> bool:
    """Whether rows' gradients fit memory, and writing them down costs less than two Gram matrices and a sum in doubles.

    Measured, in nanoseconds a row: written (1.4 + 0.009 L) K O, else 0.03 L^2 (K + O) + 0.036 L K O.
    """
    return kept_bytes <= KEPT_BYTES and positions**2 * (inputs + outputs) >= (46 - 0.9 * positions) * inputs * outputs


def gram_needs_less(positions: int, inputs: int, outputs: int) -> bool:
    """Whether the two Gram matrices of a row need fewer multiplications than its written gradient."""
    return positions * (inputs + outputs) < inputs * outputs
