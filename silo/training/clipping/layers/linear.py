"""Rows of a linear layer: on vectors one outer product a row, on sequences a sum of them."""

import torch
from torch import Tensor

from siloseal.silo.training.clipping.layers.rows import (
    BLOCK_ROWS,
    Gradients,
    LayerRows,
    WrittenRows,
    are_worth_writing,
    gram_needs_less,
    gram_squares,
    outer_sum,
    squares,
    sum_of,
    zeroed,
)
from siloseal.silo.training.clipping.long_sum import doubled


class LinearRows:
    """Rows of a linear layer: outer products of `derivatives[i]` and (`inputs[i]`, 1 for a bias), so norms multiply."""

    def __init__(self, inputs: Tensor, derivatives: Tensor, *, bias: bool) -> None:
        self._bias = bias
        self._inputs = inputs  # (B, I)
        self._derivatives = derivatives  # (B, O)

    def squared_norms(self) -> Tensor:
        return (squares(self._inputs) + float(self._bias)) * squares(self._derivatives)

    def weighted_sum(self, weights: Tensor) -> Gradients:
        return {
            "weight": outer_sum(weights, self._derivatives, self._inputs),
            "bias": weights @ doubled(self._derivatives),
        }

    def without(self, rows: Tensor) -> "LinearRows":
        return LinearRows(zeroed(rows, self._inputs), zeroed(rows, self._derivatives), bias=self._bias)

    def sources(self) -> list[Tensor]:
        return [self._inputs, self._derivatives]


class SequenceRows:
    """Rows of a linear layer on sequences whose gradients are too large to be kept: only their norms are.

    Norms come from Gram matrices, or from gradients that are written down for a few rows at a time.
    """

    def __init__(self, inputs: Tensor, derivatives: Tensor, *, bias: bool) -> None:
        self._bias = bias
        self._inputs = inputs  # (B, L, I)
        self._derivatives = derivatives  # (B, L, O)
        self.by_gram = gram_needs_less(inputs.shape[1], inputs.shape[2], derivatives.shape[2])

    def squared_norms(self) -> Tensor:
        blocks = zip(torch.split(self._inputs, BLOCK_ROWS), torch.split(self._derivatives, BLOCK_ROWS), strict=True)
        return torch.cat([self._block(*block) for block in blocks])

    def _block(self, inputs: Tensor, derivatives: Tensor) -> Tensor:
        if self.by_gram:
            return gram_squares(inputs, derivatives, bias_input=float(self._bias), total=torch.float64)
        written = _written(inputs, derivatives, bias=self._bias).squared_norms()
        # The weighted sum adds positions up in another order. Where they cancel, its rounding is that of their sizes.
        sizes = _position_norms(inputs, bias=self._bias) * _position_norms(derivatives, bias=False)  # (B, L)
        terms = inputs.shape[1] + 2
        return written + terms * torch.finfo(inputs.dtype).eps * sizes.sum(1).square()

    def weighted_sum(self, weights: Tensor) -> Gradients:
        parts = (weights, self._derivatives, self._inputs)
        blocks = zip(*(torch.split(part, BLOCK_ROWS) for part in parts), strict=True)
        return {
            "weight": sum_of(outer_sum(*block) for block in blocks),
            "bias": weights @ doubled(self._derivatives).sum(1),
        }

    def without(self, rows: Tensor) -> "SequenceRows":
        return SequenceRows(zeroed(rows, self._inputs), zeroed(rows, self._derivatives), bias=self._bias)

    def sources(self) -> list[Tensor]:
        return [self._inputs, self._derivatives]


def linear_rows(inputs: Tensor, derivatives: Tensor, trained: frozenset[str]) -> LayerRows:
    """The rows of a linear layer on inputs (B, ..., I) with derivatives (B, ..., O), by what needs least work."""
    if "weight" not in trained:
        return WrittenRows({"bias": derivatives.flatten(1, -2).sum(1) if derivatives.ndim > 2 else derivatives})
    bias = "bias" in trained
    if inputs.ndim == 2:
        return LinearRows(inputs, derivatives, bias=bias)
    inputs, derivatives = inputs.flatten(1, -2), derivatives.flatten(1, -2)  # (B, L, I), (B, L, O)
    (rows, positions, ins), outs = inputs.shape, derivatives.shape[2]
    kept_bytes = rows * ins * outs * inputs.element_size()
    if are_worth_writing(kept_bytes, positions=positions, inputs=ins, outputs=outs):
        return _written(inputs, derivatives, bias=bias)
    return SequenceRows(inputs, derivatives, bias=bias)


def _position_norms(positions: Tensor, *, bias: bool) -> Tensor:
    """The norms (B, L) of positions (B, L, N), with one more entry of 1 for a bias."""
    return (squares(positions.flatten(0, 1)) + float(bias)).sqrt().view(positions.shape[:2])


def _written(inputs: Tensor, derivatives: Tensor, *, bias: bool) -> WrittenRows:
    rows = {"weight": torch.bmm(derivatives.mT, inputs)}  # (B, O, I)
    return WrittenRows(rows | {"bias": derivatives.sum(1)} if bias else rows)
