"""Rows of `nn.MultiheadAttention`, whose projections are linear layers that never run as modules.

It passes its weights to a function instead, so no hook of a module sees the projections' inputs and outputs. While a
network with attention runs, `LinearCalls` watches the calls of `functional.linear` with these weights.
"""

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from siloseal.federation.errors import UnclippableModule
from siloseal.silo.training.clipping.layers.linear import linear_rows
from siloseal.silo.training.clipping.layers.rows import Gradients, LayerRows

PROJECTIONS = {"in_proj_weight": "in_proj_bias", "out_proj.weight": "out_proj.bias"}
"""Names of the two projections' weights, each with its bias. Attention with more parameters is not book-kept here."""


PACKED = "_in_projection_packed"
"""Function of torch that projects queries, keys and values with one weight."""


class LinearCall(NamedTuple):
    """One call of `functional.linear` with a watched weight."""

    inputs: Tensor
    output: GradientEdge
    shape: torch.Size


class LinearCalls(TorchFunctionMode):
    """All calls of `functional.linear` with the watched weights inside of attention, while the block runs."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        super().__init__()
        self.calls: dict[Tensor, list[LinearCall]] = {weight: [] for weight in weights}
        # Attention as torch computes it, but with a linear layer that is watched. Should torch rename what it calls,
        # nothing is watched any more, and the layer is book-kept as any other module.
        packed = _with_names(getattr(functional, PACKED, None), linear=self._linear)
        self._attention = _with_names(functional.multi_head_attention_forward, linear=self._linear, **{PACKED: packed})

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        """Run the function, or what stands for it."""
        run = self._attention if func is functional.multi_head_attention_forward else func
        return run(*args, **(kwargs or {}))

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        result = functional.linear(inputs, weight, bias)
        if weight in self.calls and result.requires_grad:
            self.calls[weight].append(LinearCall(inputs.detach(), get_gradient_edge(result), result.shape))
        return result


def _with_names(function: Any, **names: Any) -> Any:
    """A copy of a function of Python that finds these functions under their names, and all others as before."""
    if not isinstance(function, FunctionType):
        return function
    return FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


class AttentionRows:
    """Rows of both projections together."""

    def __init__(self, projections: Mapping[str, LayerRows]) -> None:
        self._projections = projections  # by the name of the weight

    def squared_norms(self) -> Tensor:
        return torch.stack([rows.squared_norms() for rows in self._projections.values()]).sum(0)

    def weighted_sum(self, weights: Tensor) -> Gradients:
        total: Gradients = {}
        for name, rows in self._projections.items():
            part = rows.weighted_sum(weights)
            names = {"weight": name, "bias": PROJECTIONS[name]}
            total |= {names[local]: gradient for local, gradient in part.items()}
        return total

    def without(self, rows: Tensor) -> "AttentionRows":
        return AttentionRows({name: part.without(rows) for name, part in self._projections.items()})

    def sources(self) -> list[Tensor]:
        return [source for part in self._projections.values() for source in part.sources()]


def is_book_kept(layer: nn.MultiheadAttention) -> bool:
    """Whether the two projections hold all of the layer's parameters: no separate keys, no learnt bias of keys."""
    known = {*PROJECTIONS, *PROJECTIONS.values()}
    return {name for name, _ in layer.named_parameters()} <= known


def trained_projections(trained: frozenset[str]) -> list[str]:
    """Names of the weights of the projections of which anything is trained."""
    return [weight for weight, bias in PROJECTIONS.items() if trained & {weight, bias}]


def attention_rows(
    calls: Mapping[str, LinearCall], derivatives: Mapping[str, Tensor], trained: frozenset[str], *, rows: int
) -> AttentionRows:
    """The rows of both projections, each from its one call. Inside of attention, rows are the second dimension."""
    projections: dict[str, LayerRows] = {}
    for name, call in calls.items():
        local = {kind for kind, part in (("weight", name), ("bias", PROJECTIONS[name])) if part in trained}
        inputs, outward = (_rows_first(part, rows) for part in (call.inputs, derivatives[name]))
        projections[name] = linear_rows(inputs, outward, frozenset(local))
    return AttentionRows(projections)


def require_rows_in_attention(name: str, layer: nn.Module, query: Tensor, rows: int) -> None:
    """Raise `UnclippableModule` unless queries (B, L, E), or (L, B, E) without `batch_first`, are those of B rows."""
    place = 0 if isinstance(layer, nn.MultiheadAttention) and layer.batch_first else 1
    if query.ndim != 3 or query.shape[place] != rows:
        raise UnclippableModule(
            f"attention '{name}' saw queries of shape {tuple(query.shape)} for {rows} row losses, expected 3 "
            f"dimensions of which number {place} counts the rows; keep one row a unit throughout"
        )


def _rows_first(part: Tensor, rows: int) -> Tensor:
    """Positions (L, B, E), or the same folded to (L B, E), as (B, L, E)."""
    return part.view(-1, rows, part.shape[-1]).transpose(0, 1)
