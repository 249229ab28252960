"""Networks whose forward pass is known: layers of torch, one after the other, or built in."""

from torch import nn

KNOWN = ("torch.nn.modules.", "siloseal.models.")
"""Packages whose layers treat every row of a batch alike, whatever the rows hold, unless a probe finds otherwise."""


def is_plain(network: nn.Module) -> bool:
    """Whether no code of a user's own runs in a forward pass of the network.

    Such code may do anything with a batch: trim it to its longest row, or rescale it if one row is large. No probe on
    made-up rows excludes that. So the rows of other networks run alone.
    """
    return all(_is_known(part) for part in network.modules())


def _is_known(part: nn.Module) -> bool:
    hooks = part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks
    return type(part).__module__.startswith(KNOWN) and "forward" not in vars(part) and not any(hooks)
