"""The rows of every part of a network, from one recorded forward pass and one backward pass to the parts' outputs."""

from collections.abc import Mapping
from typing import assert_never, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from siloseal.federation.errors import UnclippableModule
from siloseal.silo.training.clipping.layers.any_module import Call, module_rows, require_rows_first
from siloseal.silo.training.clipping.layers.attention import LinearCall, attention_rows, require_rows_in_attention
from siloseal.silo.training.clipping.layers.convolution import Convolution, convolution_rows
from siloseal.silo.training.clipping.layers.embedding import EmbeddingRows
from siloseal.silo.training.clipping.layers.linear import linear_rows
from siloseal.silo.training.clipping.layers.normalisation import Norm, norm_rows
from siloseal.silo.training.clipping.layers.rows import LayerRows
from siloseal.silo.training.clipping.parts import Part
from siloseal.silo.training.clipping.recording import Pass, Recording

Derivatives = dict[GradientEdge, Tensor]


def books_of(
    parts: Mapping[str, Part], recorded: Recording, losses: Tensor, *, vectorised: bool
) -> dict[str, LayerRows]:
    """The rows of all parts that reached the loss.

    `vectorised` is for parts that run again: all rows at once, or one after the other.
    """
    derivatives = _derivatives(parts, recorded, losses.sum())
    books: dict[str, LayerRows] = {}
    with torch.no_grad():
        for name, record in recorded.passes.items():
            if name in recorded.projections:
                calls = recorded.projections[name]
                require_rows_in_attention(name, parts[name].module, record.tensors[0], len(losses))
                outward = {weight: _of(derivatives, call) for weight, call in calls.items()}
                books[name] = attention_rows(calls, outward, parts[name].trained, rows=len(losses))
            elif any(edge in derivatives for edge in record.outputs.values()):
                books[name] = _rows(parts[name], record, derivatives, rows=len(losses), vectorised=vectorised)
    return books


def _derivatives(parts: Mapping[str, Part], recorded: Recording, loss: Tensor) -> Derivatives:
    """The derivatives of the loss by all outputs that it depends on."""
    edges = [call.output for calls in recorded.projections.values() for call in calls.values()]
    edges += [
        edge
        for name, record in recorded.passes.items()
        if name not in recorded.projections
        for edge in record.outputs.values()
    ]
    unseen = {  # parameters of parts that did not run: expected to have no gradient at all
        parameter: name
        for name, part in parts.items()
        if name not in recorded.passes
        for parameter in part.parameters.values()
    }
    if not loss.requires_grad or not (edges or unseen):
        return {}
    sought = cast(list[Tensor], [*edges, *unseen])  # torch's annotation knows lists of one of the two only
    found = torch.autograd.grad(loss, sought, allow_unused=True)
    for name, part in zip(unseen.values(), found[len(edges) :], strict=True):
        if part is not None:
            raise UnclippableModule(
                f"a parameter of layer '{name}' was used, but the layer did not run, so its input is unknown; call the "
                "layer itself"
            )
    return {edge: part for edge, part in zip(edges, found, strict=False) if part is not None}


def _of(derivatives: Derivatives, call: LinearCall) -> Tensor:
    return derivatives[call.output] if call.output in derivatives else call.inputs.new_zeros(call.shape)


def _rows(part: Part, record: Pass, derivatives: Derivatives, *, rows: int, vectorised: bool) -> LayerRows:
    if part.kind == "any" or part.kind == "attention":
        reached = {n: derivatives[edge] for n, edge in record.outputs.items() if edge in derivatives}
        parameters = {name: parameter.detach() for name, parameter in part.parameters.items()}
        call = Call(record.arguments, record.keywords, reached)
        require_rows_first(part.name, call, rows)
        if record.random:
            raise UnclippableModule(
                f"layer '{part.name}' drew random numbers, so it cannot run again to tell its rows apart; move its own "
                "parameters into a part that draws none"
            )
        return module_rows(part.module, parameters, call, rows=rows, vectorised=vectorised)
    (edge,) = record.outputs.values()
    (inputs,) = record.tensors
    _require_rows_first(part, inputs, rows)
    outward = derivatives[edge]
    match part.kind:
        case "linear":
            return linear_rows(inputs, outward, part.trained)
        case "convolution":
            return convolution_rows(cast(Convolution, part.module), inputs, outward, part.trained)
        case "norm":
            return norm_rows(cast(Norm, part.module), inputs, outward, part.trained)
        case "embedding":
            return EmbeddingRows(cast(nn.Embedding, part.module), inputs, outward)
        case _:
            assert_never(part.kind)


def _require_rows_first(part: Part, inputs: Tensor, rows: int) -> None:
    module = part.module
    match module:
        case nn.LayerNorm() | nn.RMSNorm():
            least = 1 + len(module.normalized_shape)
        case nn.Conv1d() | nn.Conv2d() | nn.Conv3d():
            least = 2 + len(module.kernel_size)
        case nn.InstanceNorm1d() | nn.InstanceNorm2d() | nn.InstanceNorm3d():
            least = {nn.InstanceNorm1d: 3, nn.InstanceNorm2d: 4, nn.InstanceNorm3d: 5}[type(module)]
        case nn.Embedding():
            least = 1
        case _:
            least = 2
    if inputs.ndim < least or len(inputs) != rows:
        raise UnclippableModule(
            f"layer '{part.name}' saw an input of shape {tuple(inputs.shape)} for {rows} row losses, expected at least "
            f"{least} dimensions of which the first counts the rows; keep one row a unit throughout"
        )
