"""Rows of any other module: it runs again on what it saw, and its rows' gradients come out one by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap

from siloseal.federation.errors import UnclippableModule
from siloseal.silo.training.clipping.chunks import chunk_rows, vectorising
from siloseal.silo.training.clipping.layers.rows import Gradients, WrittenRows, zeroed


@dataclass(frozen=True)
class Call:
    """What a module was called with, and the derivatives by those of its outputs that reached the loss."""

    arguments: tuple[object, ...]
    keywords: Mapping[str, object]
    derivatives: Mapping[int, Tensor]
    """Derivatives (B, ...) by the place of the output among all tensors that the module returned."""


@dataclass(frozen=True)
class ModuleRows:
    """Rows of a module that is the function of its inputs: nothing random, and no row meets another.

    The derivative is pulled back through the module alone, so all of the network but this module still runs once.
    """

    module: nn.Module
    parameters: Mapping[str, Tensor]
    """Trained parameters by their names within the module."""
    call: Call
    rows: int
    vectorised: bool
    """Whether rows are pulled back together by `vmap`, which knows most operations, but not all."""
    left_out: Tensor | None = None

    def squared_norms(self) -> Tensor:
        return torch.cat([written.squared_norms() for _, written in self._chunks()])

    def weighted_sum(self, weights: Tensor) -> Gradients:
        total = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        for chunk, written in self._chunks():
            for name, part in written.weighted_sum(weights[chunk]).items():
                total[name] += part
        return total

    def without(self, rows: Tensor) -> "ModuleRows":
        return replace(self, left_out=rows)

    def _chunks(self) -> Iterator[tuple[slice, WrittenRows]]:
        size = chunk_rows(self.parameters.values())
        for start in range(0, self.rows, size):
            chunk = slice(start, min(start + size, self.rows))
            rows = self._at_once(chunk) if self.vectorised else self._one_after_the_other(chunk)
            if self.left_out is not None:
                rows = {name: zeroed(self.left_out[chunk], part) for name, part in rows.items()}
            yield chunk, WrittenRows(rows)

    def _at_once(self, chunk: slice) -> dict[str, Tensor]:
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

    def _one_after_the_other(self, chunk: slice) -> dict[str, Tensor]:
        rows: dict[str, list[Tensor]] = {name: [] for name in self.parameters}
        with torch.enable_grad():
            for row in range(self.rows)[chunk]:
                parameters = {name: part.clone().requires_grad_() for name, part in self.parameters.items()}
                outputs = self._outputs(parameters, [part[row : row + 1] for part in self._tensors()])
                outward = [part[row : row + 1] for part in self.call.derivatives.values()]
                found = torch.autograd.grad(outputs, list(parameters.values()), outward, materialize_grads=True)
                for name, part in zip(parameters, found, strict=True):
                    rows[name].append(part)
        return {name: torch.stack(parts) for name, parts in rows.items()}

    def _tensors(self) -> list[Tensor]:
        return [part for part in (*self.call.arguments, *self.call.keywords.values()) if isinstance(part, Tensor)]

    def _outputs(self, parameters: Mapping[str, Tensor], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs that reached the loss, with these tensors in the places of those that the module was given."""
        given = iter(tensors)
        arguments = tuple(next(given) if isinstance(part, Tensor) else part for part in self.call.arguments)
        keywords = {
            name: next(given) if isinstance(part, Tensor) else part for name, part in self.call.keywords.items()
        }
        outputs = list(tensors_in(functional_call(self.module, dict(parameters), arguments, keywords)))
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
