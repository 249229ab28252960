"""Networks without batch norm, which mixes the examples of a batch: group norm looks at one example alone."""

from copy import deepcopy

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

MOST_GROUPS = 32
CHANNELS_A_GROUP = 4
"""Fewest channels of a group: one value alone, normalised, is nothing but zero, and of two only a sign is left."""


def with_group_norm(module: nn.Module) -> nn.Module:
    """A copy of the network in which every batch norm is a group norm with the same weights, in the same place."""
    network = deepcopy(module)
    if isinstance(network, _BatchNorm):
        return _group_norm(network)
    replaced: dict[nn.Module, nn.Module] = {}  # a layer in two places stays one layer
    for parent in list(network.modules()):
        for name, child in parent._modules.items():
            if isinstance(child, _BatchNorm):
                parent._modules[name] = replaced.setdefault(child, _group_norm(child))
    return network


def groups_of(channels: int) -> int:
    """The largest number of equal groups, up to 32, that have four channels or more; else 1."""
    most = max(1, min(MOST_GROUPS, channels // CHANNELS_A_GROUP))
    return next(groups for groups in range(most, 0, -1) if channels % groups == 0)


def _group_norm(norm: _BatchNorm) -> nn.GroupNorm:
    group_norm = nn.GroupNorm(groups_of(norm.num_features), norm.num_features, eps=norm.eps, affine=norm.affine)
    if norm.affine:
        group_norm.to(norm.weight)
        with torch.no_grad():
            for mine, theirs in ((group_norm.weight, norm.weight), (group_norm.bias, norm.bias)):
                mine.copy_(theirs).requires_grad_(theirs.requires_grad)
    return group_norm.train(norm.training)
