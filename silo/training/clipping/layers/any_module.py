"""Rows of any other module: it runs again on what it saw, and its rows' gradients come out one by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import vjp, vmap

from siloseal.federation.errors import UnclippableModule
from siloseal.silo.training.clipping.chunks import chunk_rows, vectorising
from siloseal.silo.training.clipping.layers.rows import WrittenRows
from siloseal.silo.training.clipping.substitution import call_with


@dataclass(frozen=True)
class Call:
    """What a module was called with, and the derivatives by those of its outputs that reached the loss."""

    arguments: tuple[object, ...]
    keywords: Mapping[str, object]
    derivatives: Mapping[int, Tensor]
    """Derivatives (B, ...) by the place of the output among all tensors that the module returned."""


def module_rows(
    module: nn.Module, parameters: Mapping[str, Tensor], call: Call, *, rows: int, vectorised: bool
) -> WrittenRows:
    """The rows of a module that is the function of its inputs: nothing random, and no row meets another.

    The derivative is pulled back through the module alone, so all of the network but this module still runs once. Each
    row runs again once, and its gradient is kept: a second run that differs could not be held to the norm of the first.
    """
    again = _Again(module, parameters, call)
    size = chunk_rows(parameters.values()) if vectorised else 1
    chunks = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    found = [again.at_once(chunk) if vectorised else again.alone(chunk) for chunk in chunks]
    return WrittenRows({name: torch.cat([chunk[name] for chunk in found]) for name in parameters})


@dataclass(frozen=True)
class _Again:
    """A module that runs again on some rows of what it was called with."""

    module: nn.Module
    parameters: Mapping[str, Tensor]
    """Trained parameters by their names within the module."""
    call: Call

    def at_once(self, chunk: slice) -> dict[str, Tensor]:
        """Gradients of all rows of the chunk together, by `vmap`, which knows most operations, but not all."""
        tensors = [part[chunk] for part in self._tensors()]
        outward = [part[chunk] for part in self.call.derivatives.values()]

        def gradient(tensors: list[Tensor], outward: list[Tensor]) -> dict[str, Tensor]:
            inputs = [part[None] for part in tensors]
            pull = vjp(lambda parameters: self._outputs(parameters, inputs), dict(self.parameters))[1]
            (found,) = pull(tuple(part[None] for part in outward))
            return dict(found)

        with vectorising():
            rows: dict[str, Tensor] = vmap(gradient)(tensors, outward)
        return rows

    def alone(self, row: slice) -> dict[str, Tensor]:
        """The gradient of a single row."""
        with torch.enable_grad():
            parameters = {name: part.clone().requires_grad_() for name, part in self.parameters.items()}
            outputs = self._outputs(parameters, [part[row] for part in self._tensors()])
            outward = [part[row] for part in self.call.derivatives.values()]
            found = torch.autograd.grad(outputs, list(parameters.values()), outward, materialize_grads=True)
        return {name: part[None] for name, part in zip(parameters, found, strict=True)}

    def _tensors(self) -> list[Tensor]:
        return [part for part in (*self.call.arguments, *self.call.keywords.values()) if isinstance(part, Tensor)]

    def _outputs(self, parameters: Mapping[str, Tensor], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs that reached the loss, with these tensors in the places of those that the module was given."""
        given = iter(tensors)
        arguments = tuple(next(given) if isinstance(part, Tensor) else part for part in self.call.arguments)
        keywords = {
            name: next(given) if isinstance(part, Tensor) else part for name, part in self.call.keywords.items()
        }
        outputs = list(tensors_in(call_with(self.module, parameters, arguments, keywords)))
        return tuple(outputs[place] for place in self.call.derivatives)


def require_rows_first(name: str, call: Call, rows: int) -> None:
    """Raise `UnclippableModule` unless all inputs and outputs of a module have one entry a row, first."""
    inputs = (*call.arguments, *call.keywords.values())
    if any(not isinstance(part, Tensor) and any(True for _ in tensors_in(part)) for part in inputs):
        raise UnclippableModule(
            f"layer '{name}' takes tensors inside of a list, tuple or dict, so that its rows cannot be told apart; "
            "pass each tensor as an argument of its own"
        )
    shapes = [part.shape for part in (*tensors_in(inputs), *call.derivatives.values())]
    if not all(shape and shape[0] == rows for shape in shapes):
        raise UnclippableModule(
            f"layer '{name}' has inputs and outputs of shapes {[tuple(shape) for shape in shapes]} for {rows} row "
            "losses, expected the first dimension of each to count the rows; keep one row a unit throughout"
        )


def tensors_in(value: object) -> Iterator[Tensor]:
    """All tensors in nested tuples, lists and dicts, in order."""
    match value:
        case Tensor():
            yield value
        case tuple() | list():
            for part in value:
                yield from tensors_in(part)
        case dict():
            yield from tensors_in(list(value.values()))
        case _:
            return
