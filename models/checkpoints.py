"""Flat dictionaries of named tensors, as safetensors stores them, out of nested parts and back."""

from collections.abc import Mapping

from torch import Tensor

from siloseal.federation.errors import RunError

State = dict[str, Tensor]


def under(prefix: str, state: Mapping[str, Tensor]) -> State:
    """Copies of these tensors in main memory, named `prefix.name`: safetensors takes no two that share memory."""
    return {f"{prefix}.{name}": tensor.detach().cpu().clone() for name, tensor in state.items()}


def renamed(prefix: str, state: Mapping[str, Tensor]) -> State:
    """These tensors themselves, named `prefix.name`: of a state that is made of copies already."""
    return {f"{prefix}.{name}": tensor for name, tensor in state.items()}


def part_of(prefix: str, state: Mapping[str, Tensor]) -> State:
    """The tensors that `under(prefix, ...)` named, by their own names."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in state.items() if name.startswith(start)}


def require_same_shapes(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse a checkpoint of another job before anything is overwritten."""
    for name in sorted(found.keys() | expected.keys()):
        shapes = [tuple(state[name].shape) if name in state else "nothing" for state in (found, expected)]
        if shapes[0] != shapes[1]:
            raise RunError(
                f"the checkpoint holds {shapes[0]} under '{name}', expected {shapes[1]}; "
                "it belongs to another job: resume that one, or start afresh"
            )
