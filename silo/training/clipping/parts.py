"""The parts of a network that hold its trained parameters, and how each of them is book-kept.

A formula holds for the layer it was derived for and for nothing else, so types are compared exactly: a subclass may
have another forward pass, a parametrized layer another weight. Whatever is not known runs again instead
(`layers/any_module.py`).
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn
from torch.nn.modules.instancenorm import _InstanceNorm

from siloseal.federation.errors import UnclippableModule
from siloseal.models.mixing import refuse_mixing
from siloseal.silo.training.clipping.layers.attention import is_book_kept

Kind = Literal["linear", "convolution", "norm", "embedding", "attention", "any"]

_KINDS: dict[type[nn.Module], Kind] = {
    nn.Linear: "linear",
    nn.Conv1d: "convolution",
    nn.Conv2d: "convolution",
    nn.Conv3d: "convolution",
    nn.GroupNorm: "norm",
    nn.LayerNorm: "norm",
    nn.RMSNorm: "norm",
    nn.InstanceNorm1d: "norm",
    nn.InstanceNorm2d: "norm",
    nn.InstanceNorm3d: "norm",
    nn.Embedding: "embedding",
}


@dataclass(frozen=True)
class Part:
    """A module with trained parameters that no other part holds."""

    name: str
    module: nn.Module
    trained: frozenset[str]
    """Names of the trained parameters within the module."""
    kind: Kind

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The trained parameters as they are now: a move to another device may replace them."""
        return {name: self.module.get_parameter(name) for name in sorted(self.trained)}


def parts_of(module: nn.Module) -> dict[str, Part]:
    """The parts of a network by name; raises `UnclippableModule` if two parts share a trained parameter."""
    refuse_mixing(module)
    parts: dict[str, Part] = {}
    owners: dict[nn.Parameter, str] = {}
    attention: tuple[str, ...] = ()  # prefixes of what belongs to an attention layer as a whole
    for name, module_part in module.named_modules():
        if name.startswith(attention):
            continue
        if whole := type(module_part) is nn.MultiheadAttention:
            attention = (*attention, f"{name}." if name else "")
        trained = {
            local: parameter
            for local, parameter in module_part.named_parameters(recurse=whole)
            if parameter.requires_grad
        }
        for parameter in trained.values():
            if parameter in owners:
                raise UnclippableModule(
                    f"layers '{owners[parameter]}' and '{name}' share one parameter, expected each to be used once; "
                    "give them one each"
                )
            owners[parameter] = name
        if trained:
            parts[name] = Part(name, module_part, frozenset(trained), _kind(module_part))
    return parts


def _kind(module: nn.Module) -> Kind:
    if isinstance(module, nn.MultiheadAttention) and type(module) is nn.MultiheadAttention:
        return "attention" if is_book_kept(module) else "any"
    own = {name for name, _ in module.named_parameters(recurse=False)}
    plain = own <= {"weight", "bias"} and not any(module.children()) and "forward" not in vars(module)
    if isinstance(module, _InstanceNorm) and module.track_running_stats:  # by fixed statistics, and not by the row's
        return "any"
    unhooked = not module._forward_hooks and not module._forward_pre_hooks
    return _KINDS.get(type(module), "any") if plain and unhooked else "any"
