"""Rows of a convolution over any number of axes, with groups, strides, dilation and every padding.

A convolution is a linear layer on patches: L output positions, K inputs to each of them, G groups of channels.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv1d_weight, conv2d_weight, conv3d_weight

from siloseal.silo.training.clipping.layers.rows import (
    BLOCK_ROWS,
    Gradients,
    LayerRows,
    WrittenRows,
    are_worth_writing,
    gram_squares,
    outer_sum,
    sum_of,
    zeroed,
)
from siloseal.silo.training.clipping.long_sum import doubled

SUMMED_ENTRIES = 2**20
"""Entries of patches, in double precision, that are multiplied together."""

WRITTEN_ROWS = 8
"""Rows whose gradients are written down together: those of 32 take up to three times as long."""

FEW_POSITIONS = 128
"""Most positions whose products single precision adds up well enough: the bound on its error is their square."""

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d


class GramRows:
    """A convolution with more parameters than positions: its rows' norms come from Gram matrices.

    The patches would be the largest tensor of the whole step; a few rows at a time, they stay in the processor's cache.
    """

    def __init__(self, layer: Convolution, inputs: Tensor, derivatives: Tensor, *, bias: bool) -> None:
        self._layer, self._bias = layer, bias
        self._inputs = inputs  # (B, C, *size)
        self._derivatives = derivatives  # (B, O, *size of the output)

    def squared_norms(self) -> Tensor:
        blocks = zip(torch.split(self._inputs, BLOCK_ROWS), torch.split(self._derivatives, BLOCK_ROWS), strict=True)
        return torch.cat([self._block(*block) for block in blocks])

    def _block(self, inputs: Tensor, derivatives: Tensor) -> Tensor:
        patches, positions = _patches(self._layer, inputs), _positions(derivatives, self._layer.groups)
        total = positions.dtype if positions.shape[1] <= FEW_POSITIONS else torch.float64
        squares = gram_squares(patches, positions, bias_input=float(self._bias), total=total)  # (B G,)
        return squares.view(len(inputs), -1).sum(1)

    def weighted_sum(self, weights: Tensor) -> Gradients:
        positions, entries = self._derivatives[0, 0].numel(), self._layer.weight[0].numel() * self._layer.groups
        some = max(1, SUMMED_ENTRIES // (positions * entries))
        parts = (self._inputs, self._derivatives, weights)
        blocks = zip(*(torch.split(part, some) for part in parts), strict=True)
        return {
            "weight": sum_of(_summed(self._layer, *block) for block in blocks),
            "bias": weights @ doubled(self._derivatives).flatten(2).sum(2),
        }

    def without(self, rows: Tensor) -> "GramRows":
        return GramRows(self._layer, zeroed(rows, self._inputs), zeroed(rows, self._derivatives), bias=self._bias)

    def sources(self) -> list[Tensor]:
        return [self._inputs, self._derivatives]


def convolution_rows(layer: Convolution, inputs: Tensor, derivatives: Tensor, trained: frozenset[str]) -> LayerRows:
    """The rows by Gram matrices or written down, whichever needs fewer multiplications."""
    bias_rows = derivatives.sum(tuple(range(2, derivatives.ndim)))  # (B, O)
    if "weight" not in trained:
        return WrittenRows({"bias": bias_rows})
    kept_bytes = len(inputs) * layer.weight.numel() * layer.weight.element_size()
    outputs, entries = layer.out_channels // layer.groups, layer.weight[0].numel()
    if not are_worth_writing(kept_bytes, positions=derivatives[0, 0].numel(), inputs=entries, outputs=outputs):
        return GramRows(layer, inputs, derivatives, bias="bias" in trained)
    blocks = zip(torch.split(inputs, WRITTEN_ROWS), torch.split(derivatives, WRITTEN_ROWS), strict=True)
    bias = {"bias": bias_rows} if "bias" in trained else {}
    return WrittenRows({"weight": torch.cat([_written(layer, *block) for block in blocks])} | bias)


def _written(layer: Convolution, inputs: Tensor, derivatives: Tensor) -> Tensor:
    """Gradients (B, *shape of the weight) of these rows, by one convolution in which every row is a group of its own.

    It takes a fraction of the time of products of patches.
    """
    rows, (outputs, *rest) = len(inputs), layer.weight.shape
    aside = (part.reshape(1, -1, *part.shape[2:]) for part in (inputs, derivatives))  # (1, B C, *size)
    return _weight_gradient(layer, *aside, shape=[rows * outputs, *rest], groups=rows * layer.groups).view(
        rows, outputs, *rest
    )


def _summed(layer: Convolution, inputs: Tensor, derivatives: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum over these rows, as products of patches in double precision."""
    groups, (outputs, channels, *kernel) = layer.groups, layer.weight.shape
    patches, positions = (
        torch.unflatten(part, 0, (-1, groups)) for part in (_patches(layer, inputs), _positions(derivatives, groups))
    )  # (B, G, L, K) and (B, G, L, O / G)
    products = [outer_sum(weights, positions[:, group], patches[:, group]) for group in range(groups)]
    return torch.cat(products).view(outputs, *kernel, channels).movedim(-1, 1)


def _patches(layer: Convolution, inputs: Tensor) -> Tensor:
    """Patches (B G, L, K), K in the order kernel, channel: channels last are copied in whole runs."""
    axes = len(layer.kernel_size)
    windows = _padded(layer, inputs)
    for axis, (kernel, stride, dilation) in enumerate(
        zip(layer.kernel_size, layer.stride, layer.dilation, strict=True), start=1
    ):
        windows = windows.unfold(axis, (kernel - 1) * dilation + 1, stride)[..., ::dilation]
    windows = torch.unflatten(windows, axes + 1, (layer.groups, -1))  # (B, *positions, G, C / G, *kernel)
    places, kernel_axes = range(1, axes + 1), range(axes + 3, 2 * axes + 3)
    windows = windows.permute(0, axes + 1, *places, *kernel_axes, axes + 2)
    return windows.flatten(2 + axes).flatten(2, 1 + axes).flatten(0, 1)


def _padded(layer: Convolution, inputs: Tensor) -> Tensor:
    """Inputs (B, *size, C) with their padding."""
    if layer.padding_mode == "zeros":  # padded behind the channels, so that they come to lie last in memory
        return functional.pad(inputs.movedim(1, -1), [0, 0, *_padding(layer)])
    return functional.pad(inputs, _padding(layer), mode=layer.padding_mode).movedim(1, -1)


def _padding(layer: Convolution) -> list[int]:
    """Pixels before and after each axis, the last axis first, as `functional.pad` takes them."""
    if not isinstance(layer.padding, str):
        return [int(pixels) for pixels in reversed(layer.padding) for _ in range(2)]
    if layer.padding == "valid":
        return [0] * (2 * len(layer.kernel_size))
    totals = [dilation * (side - 1) for side, dilation in zip(layer.kernel_size, layer.dilation, strict=True)]
    return [pixels for total in reversed(totals) for pixels in (total // 2, total - total // 2)]


def _positions(maps: Tensor, groups: int) -> Tensor:
    """Maps (B, O, *size) as (B G, L, O / G)."""
    rows = maps.movedim(1, -1).flatten(1, -2)  # (B, L, O)
    return torch.unflatten(rows, 2, (groups, -1)).transpose(1, 2).flatten(0, 1)


def _weight_gradient(
    layer: Convolution, inputs: Tensor, derivatives: Tensor, *, shape: list[int], groups: int
) -> Tensor:
    padding = layer.padding
    if isinstance(padding, str) or layer.padding_mode != "zeros":
        inputs, padding = _padded(layer, inputs).movedim(-1, 1), (0,) * len(layer.kernel_size)
    gradient = {1: conv1d_weight, 2: conv2d_weight, 3: conv3d_weight}[len(layer.kernel_size)]
    weight: Tensor = gradient(  # type: ignore[no-untyped-call]
        inputs, shape, derivatives, layer.stride, padding, layer.dilation, groups
    )
    return weight
