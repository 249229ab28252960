"""Networks whose forward pass is known: layers of torch, one after the other, or built in."""

from itertools import chain
from types import BuiltinFunctionType

from torch import Tensor, nn
from torch.nn.modules import module as torch_modules

KNOWN = ("torch.nn.modules.", "siloseal.models.")
"""Packages whose layers treat every row of a batch alike, whatever the rows hold, unless a probe finds otherwise."""


def is_plain(network: nn.Module) -> bool:
    """Whether no code of a user's own runs in a forward pass of the network.

    Such code may do anything with a batch: trim it to its longest row, or rescale it if one row is large. No probe on
    made-up rows excludes that. So the rows of other networks run alone.
    """
    everywhere = torch_modules._global_forward_hooks, torch_modules._global_forward_pre_hooks
    return not any(everywhere) and all(_is_known(part) for part in network.modules())


def _is_known(part: nn.Module) -> bool:
    hooks = part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks
    tensors = chain(part.parameters(recurse=False), part.buffers(recurse=False))
    held = (value for value in vars(part).values() if callable(value))  # an activation that a layer was given, say
    return (
        type(part).__module__.startswith(KNOWN)
        and "forward" not in vars(part)
        and not any(hooks)
        and all(type(tensor) in (Tensor, nn.Parameter) for tensor in tensors)  # a subclass runs code of its own
        and all(_is_torchs(value) for value in held)
    )


def _is_torchs(function: object) -> bool:
    if isinstance(function, BuiltinFunctionType):
        return str(function.__module__ or type(function.__self__).__module__).startswith("torch")
    return str(getattr(function, "__module__", "")).startswith(("torch.", *KNOWN))
