"""Networks as flat vectors, which is how they are summed over silos."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from siloseal.federation.errors import DomainError, MessageError, RunError


def flatten(modules: Sequence[nn.Module]) -> Tensor:
    """All parameters of these modules, in order, as one float32 vector of their own."""
    return flatten_parameters(_parameters(modules))


def load_flat(modules: Sequence[nn.Module], vector: Tensor) -> None:
    """The inverse of `flatten`, in place."""
    load_parameters(_parameters(modules), vector)


def flatten_parameters(parameters: Sequence[nn.Parameter]) -> Tensor:
    """These parameters, in order, as one float32 vector of their own, in main memory."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in parameters]).cpu()


def load_parameters(parameters: Sequence[nn.Parameter], vector: Tensor) -> None:
    """The inverse, in place. The vector came from outside, so it is checked before anything changes."""
    sizes = [parameter.numel() for parameter in parameters]
    if vector.shape != (sum(sizes),):
        raise MessageError(
            f"a model vector has shape {tuple(vector.shape)}, expected ({sum(sizes)},); "
            "check that every silo builds the same networks"
        )
    if not torch.isfinite(vector).all():
        raise MessageError("a model vector holds NaN or infinity, expected finite numbers; discard this model")
    with torch.no_grad():
        for parameter, part in zip(parameters, torch.split(vector, sizes), strict=True):
            parameter.copy_(part.view_as(parameter))


def _parameters(modules: Sequence[nn.Module]) -> list[nn.Parameter]:
    """The parameters that are summed. Buffers are refused: a batch norm's statistics would stay behind unnoticed."""
    if buffers := [name for module in modules for name, _ in module.named_buffers()]:
        raise DomainError(
            f"a network keeps buffers ({', '.join(buffers)}), which a sum of parameters leaves behind; use "
            "GroupNorm or LayerNorm instead of batch norm"
        )
    parameters = [parameter for module in modules for parameter in module.parameters()]
    if odd := {str(parameter.dtype) for parameter in parameters} - {"torch.float32"}:
        raise DomainError(f"a network has parameters of {', '.join(sorted(odd))}; only torch.float32 is summed")
    return parameters


def trainable_parameters(module: nn.Module) -> list[nn.Parameter]:
    """The parameters that training moves, in the order of a flat gradient. Frozen ones take no part in anything."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not trained:
        raise RunError("found no parameter to train, expected at least one; leave some part of the network unfrozen")
    return trained
