"""Sums of per-row clipped gradients without per-row gradients: book-keeping.

A linear layer's gradient for row i is the outer product of what went in (a_i) and of the loss's derivative by what came
out (g_i). So its norm is |a_i| |g_i|, and the clipped sum is one matrix product with the rows of g scaled. One forward
pass and one backward pass to the layers' outputs suffice, where the textbook way keeps one gradient a row in memory.
(Bu, Wang, Zha and Karypis, "Differentially private optimization on large model at small cost", ICML 2023.)

It holds only where each layer is used once and no layer mixes rows, so everything else is refused by name.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from siloseal.federation.errors import UnclippableModule
from siloseal.silo.training.layers import LayerRows, LinearRows, convolution_rows

Clippable = nn.Linear | nn.Conv2d


class _Pass(NamedTuple):
    inputs: Tensor
    outputs: Tensor


def clipped_gradient_sum(module: nn.Module, row_losses: Callable[[], Tensor], *, clip_norm: float) -> list[Tensor]:
    """The sum over rows of g_i / max(1, |g_i| / C), where g_i is the gradient of the i-th entry of `row_losses()`.

    `row_losses` runs the module on a batch, once, and returns a loss a row; entry i depends on no other row. Gradients
    are in the order of `module.parameters()`. Norms of single rows stay in here: they carry no noise.
    """
    layers = clippable_layers(module)
    with _recording(layers) as passes:
        losses = row_losses()  # (rows,)
    gradients: dict[Tensor, Tensor] = {parameter: torch.zeros_like(parameter) for parameter in module.parameters()}
    if len(losses) == 0 or not passes:
        return list(gradients.values())
    outputs = [record.outputs for record in passes.values()]
    derivatives = torch.autograd.grad(losses.sum(), outputs, materialize_grads=True)
    with torch.no_grad():
        inputs = {name: record.inputs for name, record in passes.items()}
        gradients_out = dict(zip(passes, derivatives, strict=True))
        books = _books(layers, inputs, gradients_out, rows=len(losses))
        norms = _norms(books)
        if not (finite := norms.isfinite()).all():
            # A row that overflows would make the whole sum NaN: unbounded influence. It gets none instead.
            inputs = {name: _without(~finite, part) for name, part in inputs.items()}
            gradients_out = {name: _without(~finite, part) for name, part in gradients_out.items()}
            books = _books(layers, inputs, gradients_out, rows=len(losses))
            norms = _norms(books)
        weights = clip_norm / norms.clamp(min=clip_norm)
        for name, book in books.items():
            layer, total = layers[name], book.weighted_sum(weights)
            gradients[layer.weight] = total.weight
            if layer.bias is not None:
                gradients[layer.bias] = total.bias
    return list(gradients.values())


def _books(
    layers: dict[str, Clippable], inputs: dict[str, Tensor], derivatives: dict[str, Tensor], *, rows: int
) -> dict[str, LayerRows]:
    return {name: _rows(name, layers[name], inputs[name], derivatives[name], rows=rows) for name in inputs}


def _norms(books: dict[str, LayerRows]) -> Tensor:
    """The norms (rows,) of each row over all layers."""
    return torch.stack([book.squared_norms() for book in books.values()]).sum(0).sqrt()


def _without(rows: Tensor, part: Tensor) -> Tensor:
    """The tensor with these rows set to zero; multiplying by zero would leave infinities and NaN in place."""
    return part.masked_fill(rows.view(-1, *[1] * (part.ndim - 1)), 0.0)


def clippable_layers(module: nn.Module) -> dict[str, Clippable]:
    """The layers that hold the module's parameters, by name; raises if any parameter is held by anything else."""
    layers: dict[str, Clippable] = {}
    owners: dict[nn.Parameter, str] = {}
    for name, part in module.named_modules():
        if isinstance(part, _BatchNorm):
            raise UnclippableModule(
                f"layer '{name}' is {type(part).__name__}, which mixes the rows of a batch, so no row's influence can "
                "be clipped; remove it"
            )
        for parameter_name, parameter in part.named_parameters(recurse=False):
            if parameter in owners:
                raise UnclippableModule(
                    f"layers '{owners[parameter]}' and '{name}' share one parameter, expected each to be used once; "
                    "give them one each"
                )
            owners[parameter] = name
            layers[name] = _clippable(name, part, parameter_name)
    return layers


def _clippable(name: str, part: nn.Module, parameter_name: str) -> Clippable:
    if not isinstance(part, nn.Linear | nn.Conv2d):
        raise UnclippableModule(
            f"parameter '{parameter_name}' belongs to '{name}', a {type(part).__name__}, but clipping knows only "
            "Linear and Conv2d; build the network from these"
        )
    if isinstance(part, nn.Conv2d) and not _is_ordinary(part):
        raise UnclippableModule(
            f"layer '{name}' is {part}, but clipping knows only convolutions of one group, without dilation, "
            "zero-padded by a number of pixels; change it"
        )
    return part


def _is_ordinary(layer: nn.Conv2d) -> bool:
    padded_by_pixels = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return layer.groups == 1 and layer.dilation == (1, 1) and padded_by_pixels


@contextmanager
def _recording(layers: dict[str, Clippable]) -> Iterator[dict[str, _Pass]]:
    """Keep every layer's input and output while the block runs."""
    passes: dict[str, _Pass] = {}

    def record(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def hook(_layer: nn.Module, inputs: tuple[Tensor, ...], outputs: Tensor) -> None:
            if name in passes:
                raise UnclippableModule(
                    f"layer '{name}' ran twice in one pass, so a row's gradient is no longer one outer product; "
                    "use it once, on all rows together"
                )
            passes[name] = _Pass(inputs[0].detach(), outputs)

        return hook

    handles = [layer.register_forward_hook(record(name)) for name, layer in layers.items()]
    try:
        yield passes
    finally:
        for handle in handles:
            handle.remove()


def _rows(name: str, layer: Clippable, inputs: Tensor, derivatives: Tensor, *, rows: int) -> LayerRows:
    dimensions = 2 if isinstance(layer, nn.Linear) else 4
    if inputs.ndim != dimensions or len(inputs) != rows:
        raise UnclippableModule(
            f"layer '{name}' saw an input of shape {tuple(inputs.shape)} for {rows} row losses, expected "
            f"{dimensions} dimensions of which the first counts the rows; keep one row a unit throughout"
        )
    if isinstance(layer, nn.Linear):
        return LinearRows(layer, inputs, derivatives)
    return convolution_rows(layer, inputs, derivatives)
