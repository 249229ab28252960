"""Sums of per-row clipped gradients without per-row gradients: book-keeping.

A linear layer's gradient for row i is the outer product of what went in (a_i) and of the loss's derivative by what came
out (g_i). So its norm is |a_i| |g_i|, and the clipped sum is one matrix product with the rows of g scaled. One forward
pass and one backward pass to the layers' outputs suffice, where the textbook way keeps one gradient a row in memory.
(Bu, Wang, Zha and Karypis, "Differentially private optimization on large model at small cost", ICML 2023.)

It holds only where each layer is used once and no layer mixes rows, so everything else is refused by name. Norms and
sums come from the same books: whatever a network does, as long as no row meets another, no row adds more than the clip
norm.
"""

from collections.abc import Mapping
from itertools import chain

import torch
from torch import Tensor, nn

from siloseal.models.learner import LabelledRows
from siloseal.models.mixing import refuse_mixing
from siloseal.models.vectors import trainable_parameters
from siloseal.silo.training.clipping.books import books_of
from siloseal.silo.training.clipping.chunks import fitting_rows
from siloseal.silo.training.clipping.layers.rows import LayerRows
from siloseal.silo.training.clipping.long_sum import LongSum, doubled
from siloseal.silo.training.clipping.parts import parts_of
from siloseal.silo.training.clipping.recording import recording
from siloseal.silo.training.clipping.way import PASS_ROWS, RowLosses


class BookKeeping:
    """The clipped gradient sum of a network whose parts each run once. Rows beyond the units (fakes) are rows, too.

    A part that no formula knows runs again, alone: `vectorised` by `vmap`, or one row after the other.
    """

    def __init__(self, module: nn.Module, *, vectorised: bool = True) -> None:
        self._module, self._parts, self._vectorised = module, parts_of(module), vectorised

    @property
    def pass_rows(self) -> int:
        """Most rows of one pass: gradients of parts that run again are kept until the norms of all parts are known."""
        again = [part for part in self._parts.values() if part.kind == "any"]
        return min(PASS_ROWS, fitting_rows(chain.from_iterable(part.parameters.values() for part in again)))

    @property
    def watches_draws(self) -> bool:
        return any(part.kind in ("any", "attention") for part in self._parts.values())

    def gradient_sum(
        self, row_losses: RowLosses, rows: LabelledRows, *, clip_norm: float, counted: Tensor | None = None
    ) -> list[Tensor]:
        books = self._books(row_losses, rows)
        if not books:
            return LongSum(trainable_parameters(self._module)).total()
        with torch.no_grad():
            norms = _norms(books)
            # A row that overflows would make the whole sum NaN: unbounded influence. It gets none instead.
            kept = norms.isfinite() if counted is None else norms.isfinite() & counted.to(norms.device)
            if not kept.all():
                books = {name: book.without(~kept) for name, book in books.items()}
                norms = _norms(books)
            weights = clip_norm / norms.clamp(min=clip_norm)
            return self._weighted_sum(books, weights)

    def sources(self, row_losses: RowLosses, rows: LabelledRows) -> list[Tensor]:
        return [source for book in self._books(row_losses, rows).values() for source in book.sources()]

    def _books(self, row_losses: RowLosses, rows: LabelledRows) -> dict[str, LayerRows]:
        refuse_mixing(self._module)
        with recording(self._parts) as recorded:
            losses = row_losses(rows)  # (rows,)
        recorded.require_untouched_inputs()
        return books_of(self._parts, recorded, losses, vectorised=self._vectorised) if len(losses) else {}

    def _weighted_sum(self, books: Mapping[str, LayerRows], weights: Tensor) -> list[Tensor]:
        found = dict[Tensor, Tensor]()
        for name, book in books.items():
            gradients = book.weighted_sum(weights)
            found |= {parameter: gradients[local] for local, parameter in self._parts[name].parameters.items()}
        parameters = trainable_parameters(self._module)
        return [found[part] if part in found else doubled(torch.zeros_like(part)) for part in parameters]


def _norms(books: Mapping[str, LayerRows]) -> Tensor:
    """The norms (rows,) of each row over all layers, in double precision."""
    return torch.stack([book.squared_norms() for book in books.values()]).sum(0).sqrt()
