"""Per-row gradient norms and weighted gradient sums of one layer, from its input and its output's derivative.

In shapes: B rows, I inputs, O outputs; a convolution has L output positions and K inputs to each of them.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv2d_weight

GRAM_ROWS = 32  # measured: 16 to 64 are equally fast, all 256 rows of a batch at once take twice as long


class Gradient(NamedTuple):
    """The gradient of a layer, summed over rows."""

    weight: Tensor
    bias: Tensor


class LayerRows(Protocol):
    """What one layer contributed to a batch's gradient, row by row."""

    def squared_norms(self) -> Tensor:
        """The squared norms (B,) of each row's gradient of weight and bias."""

    def weighted_sum(self, weights: Tensor) -> Gradient:
        """The sum of the rows' gradients, each times its entry of `weights` (B,)."""


class LinearRows:
    """Rows of a linear layer: outer products of `derivatives[i]` and (`inputs[i]`, 1 for a bias), so norms multiply."""

    def __init__(self, layer: nn.Linear, inputs: Tensor, derivatives: Tensor) -> None:
        self._bias_input = 0.0 if layer.bias is None else 1.0
        self._inputs = inputs  # (B, I)
        self._derivatives = derivatives  # (B, O)

    def squared_norms(self) -> Tensor:
        return (_squares(self._inputs) + self._bias_input) * _squares(self._derivatives)

    def weighted_sum(self, weights: Tensor) -> Gradient:
        scaled = self._derivatives * weights[:, None]
        return Gradient(scaled.T @ self._inputs, scaled.sum(0))


class PatchRows:
    """A convolution whose rows' gradients are small enough to be written down: many positions, few parameters."""

    def __init__(self, layer: nn.Conv2d, inputs: Tensor, derivatives: Tensor) -> None:
        self._layer = layer
        self._rows = torch.bmm(_positions(derivatives).mT, _patches(layer, inputs)).flatten(1)  # (B, O * K)
        self._bias_rows = derivatives.sum((2, 3))  # (B, O)

    def squared_norms(self) -> Tensor:
        squares = _squares(self._rows)
        return squares if self._layer.bias is None else squares + _squares(self._bias_rows)

    def weighted_sum(self, weights: Tensor) -> Gradient:
        outputs, channels, *kernel = self._layer.weight.shape
        weight = (weights @ self._rows).view(outputs, *kernel, channels).permute(0, 3, 1, 2)
        return Gradient(weight, weights @ self._bias_rows)


class GramRows:
    """A convolution with more parameters than positions: |G^T P|^2 = <P P^T, G G^T>, two L x L matrices a row.

    So the O x K gradients are never written down (Bu, Mao and Xu 2022, "mixed ghost clipping"). The patches P would be
    the largest tensor of the whole step; a few rows at a time, they stay in the processor's cache.

    Where positions cancel, rounding may take the whole inner product away, and a row whose norm comes out too small is
    clipped too little. So the norm is bounded from above: every square gets the largest error that it can hold.
    """

    def __init__(self, layer: nn.Conv2d, inputs: Tensor, derivatives: Tensor) -> None:
        self._layer = layer
        self._bias_input = 0.0 if layer.bias is None else 1.0
        self._inputs = inputs  # (B, C, H, W)
        self._derivatives = derivatives  # (B, O, height, width)

    def squared_norms(self) -> Tensor:
        blocks = zip(torch.split(self._inputs, GRAM_ROWS), torch.split(self._derivatives, GRAM_ROWS), strict=True)
        return torch.cat([self._block(*block) for block in blocks])

    def _block(self, inputs: Tensor, derivatives: Tensor) -> Tensor:
        patches, positions = _patches(self._layer, inputs), _positions(derivatives)
        outer = torch.bmm(positions, positions.mT)  # (rows, L, L)
        inner = torch.bmm(patches, patches.mT) + self._bias_input  # a bias is one more input, of 1
        terms = patches.shape[2] + positions.shape[2] + positions.shape[1] ** 2
        sizes = (_diagonals(inner) * _diagonals(outer)).sqrt().sum(1)  # no cancellation: sum over l of |P_l| |G_l|
        return (inner * outer).sum((1, 2)).clamp(min=0.0) + terms * torch.finfo(inner.dtype).eps * sizes.square()

    def weighted_sum(self, weights: Tensor) -> Gradient:
        layer, scaled = self._layer, self._derivatives * weights[:, None, None, None]
        weight: Tensor = conv2d_weight(  # type: ignore[no-untyped-call]
            self._inputs, layer.weight.shape, scaled, layer.stride, layer.padding, layer.dilation, layer.groups
        )
        return Gradient(weight, scaled.sum((0, 2, 3)))


def convolution_rows(layer: nn.Conv2d, inputs: Tensor, derivatives: Tensor) -> PatchRows | GramRows:
    """The one of the two that needs fewer multiplications a row."""
    outputs, entries = layer.out_channels, layer.weight[0].numel()
    positions = derivatives.shape[2] * derivatives.shape[3]
    if positions * (entries + outputs) < entries * outputs:
        return GramRows(layer, inputs, derivatives)
    return PatchRows(layer, inputs, derivatives)


def _patches(layer: nn.Conv2d, inputs: Tensor) -> Tensor:
    """Patches (B, L, K), K in the order kernel row, kernel column, channel: channels last are copied in whole runs."""
    down, across = (int(pixels) for pixels in layer.padding)
    padded = functional.pad(inputs.permute(0, 2, 3, 1), (0, 0, across, across, down, down))
    windows = padded.unfold(1, layer.kernel_size[0], layer.stride[0]).unfold(2, layer.kernel_size[1], layer.stride[1])
    return windows.permute(0, 1, 2, 4, 5, 3).flatten(3).flatten(1, 2)


def _positions(maps: Tensor) -> Tensor:
    return maps.permute(0, 2, 3, 1).flatten(1, 2)  # (B, L, O)


def _diagonals(squares: Tensor) -> Tensor:
    return squares.diagonal(dim1=1, dim2=2)  # (B, L)


def _squares(rows: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1)
    return norms.square()
