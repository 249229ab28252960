"""Rows of the norm layers that look at one row alone: output = normalised input * weight + bias."""

from torch import Tensor, nn
from torch.nn import functional

from siloseal.silo.training.clipping.layers.rows import WrittenRows

InstanceNorm = nn.InstanceNorm1d | nn.InstanceNorm2d | nn.InstanceNorm3d
Norm = nn.GroupNorm | nn.LayerNorm | nn.RMSNorm | InstanceNorm


def norm_rows(layer: Norm, inputs: Tensor, derivatives: Tensor, trained: frozenset[str]) -> WrittenRows:
    """The rows of a norm layer. A gradient has one entry a channel, so it is written down."""
    rows: dict[str, Tensor] = {}
    if "weight" in trained:
        rows["weight"] = _summed(layer, derivatives * _normalised(layer, inputs))
    if "bias" in trained:
        rows["bias"] = _summed(layer, derivatives)
    return WrittenRows(rows)


def _normalised(layer: Norm, inputs: Tensor) -> Tensor:
    if isinstance(layer, nn.GroupNorm):
        return functional.group_norm(inputs, layer.num_groups, eps=layer.eps)
    if isinstance(layer, nn.LayerNorm):
        return functional.layer_norm(inputs, layer.normalized_shape, eps=layer.eps)
    if isinstance(layer, nn.RMSNorm):
        return functional.rms_norm(inputs, list(layer.normalized_shape), eps=layer.eps)
    return functional.instance_norm(inputs, eps=layer.eps)


def _summed(layer: Norm, part: Tensor) -> Tensor:
    """The sum over all positions of a row that share one weight."""
    if isinstance(layer, nn.LayerNorm | nn.RMSNorm):
        axes = tuple(range(1, part.ndim - len(layer.normalized_shape)))
    else:
        axes = tuple(range(2, part.ndim))  # (B, C, *size)
    return part.sum(axes) if axes else part
