"""Parts of a network by the names of their parameters: what is trained, and what leaves the silo."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from torch import nn

from siloseal.federation.errors import ConfigError


def require_float32(network: nn.Module, name: str) -> None:
    """`ConfigError` for parameters of another type than the one that sums are computed in."""
    if odd := {str(parameter.dtype) for parameter in network.parameters()} - {"torch.float32"}:
        raise ConfigError(
            f"the network of {name} has parameters of {', '.join(sorted(odd))}; only torch.float32 is summed"
        )


def freeze(network: nn.Module, frozen: Sequence[str]) -> None:
    """Keep these parameters from being trained."""
    _require_untied(network, named(network, frozen, "frozen"), "frozen")
    for name in named(network, frozen, "frozen"):
        network.get_parameter(name).requires_grad_(False)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ConfigError("the network has no parameter left to train; change learner.frozen, or the network")


def shared_parameters(network: nn.Module, *, frozen: Sequence[str], local: Sequence[str]) -> list[nn.Parameter]:
    """The parameters that leave a silo, in order: those that are neither frozen nor the silo's own."""
    own, fixed = named(network, local, "local"), named(network, frozen, "frozen")
    _require_untied(network, own, "local")
    if both := own & fixed:
        raise ConfigError(
            f"learner.frozen and learner.local both list {_some(sorted(both))}; what is frozen is the same at every "
            "silo, what is local each silo trains for itself: choose one"
        )
    kept = fixed | own
    shared = [parameter for name, parameter in network.named_parameters() if name not in kept]
    if not shared:
        raise ConfigError(
            "learner.frozen and learner.local cover every parameter, so that silos have nothing to share; leave some "
            f"of {_some(name for name, _ in network.named_parameters())}"
        )
    return shared


def named(network: nn.Module, patterns: Sequence[str], field: str) -> set[str]:
    """The names of the parameters that match one of the patterns; a pattern without any is an error."""
    names = [name for name, _ in network.named_parameters(remove_duplicate=False)]
    found = set[str]()
    for pattern in patterns:
        if not (matching := {name for name in names if fnmatchcase(name, pattern)}):
            raise ConfigError(
                f"learner.{field} lists {pattern}, which is the name of no parameter; they are {_some(names)}"
            )
        found |= matching
    return found


def _require_untied(network: nn.Module, kept: set[str], field: str) -> None:
    """`ConfigError` where a parameter that stays shares its memory with one that does not."""
    memory = defaultdict[int, set[str]](set)
    for name, parameter in network.named_parameters(remove_duplicate=False):
        memory[parameter.untyped_storage().data_ptr()].add(name)
    for names in memory.values():
        if names & kept and names - kept:
            raise ConfigError(
                f"learner.{field} covers {', '.join(sorted(names & kept))}, which is one and the same as "
                f"{', '.join(sorted(names - kept))}, which it does not cover; list both, or give each its own weights"
            )


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:20]) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")
