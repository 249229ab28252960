"""Clipped gradient sums of any network: every row runs alone, so its gradient is its own whatever the network does."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import grad, vmap

from siloseal.federation.errors import UnclippableModule
from siloseal.models.learner import LabelledRows, Rows
from siloseal.models.mixing import refuse_mixing
from siloseal.models.vectors import trainable_parameters
from siloseal.silo.training.clipping.chunks import chunk_rows, vectorising
from siloseal.silo.training.clipping.layers.rows import Gradients, WrittenRows
from siloseal.silo.training.clipping.long_sum import LongSum
from siloseal.silo.training.clipping.substitution import call_with
from siloseal.silo.training.clipping.way import RowLosses


class RowByRow:
    """The clipped gradient sum of a network with layers that run twice, shared parameters, or anything else.

    `vectorised` computes a chunk of rows at once by `torch.func`, which knows most operations, but not all; else rows
    run one after the other. Either way a chunk's gradients are written down, clipped and added before the next one's.
    """

    def __init__(self, module: nn.Module, *, vectorised: bool) -> None:
        self._module, self._vectorised = module, vectorised
        self._names = [f"module.{name}" for name, part in module.named_parameters() if part.requires_grad]
        self.pass_rows = chunk_rows(self._parameters) if vectorised else 1
        """Most rows that run together."""

    @property
    def _parameters(self) -> list[nn.Parameter]:
        """The parameters as they are now: a move to another device may replace them."""
        return trainable_parameters(self._module)

    @property
    def watches_draws(self) -> bool:
        return False

    def gradient_sum(
        self, row_losses: RowLosses, rows: LabelledRows, *, clip_norm: float, counted: Tensor | None = None
    ) -> list[Tensor]:
        refuse_mixing(self._module)
        total = LongSum(self._parameters)
        for start in range(0, len(rows.labels), self.pass_rows):
            chunk = slice(start, start + self.pass_rows)
            written = self._written(row_losses, Rows(rows.inputs[chunk], rows.labels[chunk]))
            clipped = _clipped_sum(written, clip_norm, None if counted is None else counted[chunk])
            total.add([clipped[name] for name in self._names])
        return total.total()

    def sources(self, row_losses: RowLosses, rows: LabelledRows) -> list[Tensor]:
        return list(self._written(row_losses, Rows(rows.inputs, rows.labels)).values())

    def _written(self, row_losses: RowLosses, rows: Rows) -> dict[str, Tensor]:
        return (self._at_once if self._vectorised else self._one_row)(row_losses, rows)

    def _at_once(self, row_losses: RowLosses, rows: Rows) -> dict[str, Tensor]:
        losses = _RowLoss(self._module, row_losses)
        parameters = {name: part.detach() for name, part in zip(self._names, self._parameters, strict=True)}

        def loss(parameters: dict[str, Tensor], inputs: Tensor, label: Tensor) -> Tensor:
            found: Tensor = call_with(losses, parameters, (inputs[None], label[None]))
            return found

        # One draw a row, as in a batch: a row's own dropout, in one and the same run as its gradient.
        rowwise = vmap(grad(loss), in_dims=(None, 0, 0), randomness="different")
        with vectorising():
            written: dict[str, Tensor] = rowwise(parameters, rows.inputs, rows.labels)
        return written

    def _one_row(self, row_losses: RowLosses, rows: Rows) -> dict[str, Tensor]:
        loss = _only(row_losses(rows))
        found: Sequence[Tensor] = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
        return {name: part[None] for name, part in zip(self._names, found, strict=True)}


class _RowLoss(nn.Module):
    """The loss of one row as a module, so that `call_with` can put other parameters in the network's place."""

    def __init__(self, module: nn.Module, row_losses: RowLosses) -> None:
        super().__init__()
        self.module, self._row_losses = module, row_losses

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        return _only(self._row_losses(Rows(inputs, labels)))


def _only(losses: Tensor) -> Tensor:
    if losses.shape != (1,):
        raise UnclippableModule(
            f"one row has losses of shape {tuple(losses.shape)}, expected (1,): where rows run alone, each has one "
            "loss; return one loss a row"
        )
    return losses[0]


def _clipped_sum(written: Mapping[str, Tensor], clip_norm: float, counted: Tensor | None) -> Gradients:
    with torch.no_grad():
        rows = WrittenRows(written)
        norms = rows.squared_norms().sqrt()
        # A row that overflows gets no influence instead of all of it.
        kept = norms.isfinite() if counted is None else norms.isfinite() & counted.to(norms.device)
        if not kept.all():
            rows = rows.without(~kept)
            norms = rows.squared_norms().sqrt()
        return rows.weighted_sum(clip_norm / norms.clamp(min=clip_norm))
