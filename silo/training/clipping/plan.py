"""The choice of a way to the clipped gradient sum: made once, before anything is charged."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from siloseal.models.learner import LabelledRows
from siloseal.models.mixing import refuse_mixing
from siloseal.models.vectors import trainable_parameters
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.long_sum import LongSum
from siloseal.silo.training.clipping.passes import STRIDES, equal_passes
from siloseal.silo.training.clipping.probe import Probe, PublicRows
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import PASS_ROWS, ClippingWay, RowLosses

NO_COMMON_WAY = "nothing computes the gradients of several rows of this network at once"
TOO_LARGE = "the gradients of two rows of this network take more memory than a pass may"
NOT_APART = "in a pass of several rows, a row changes the last bits of others' gradients on this machine"


@dataclass(frozen=True)
class ClippingPlan:
    """The way that was chosen for a network with one loss a row, a part of the batch at a time."""

    module: nn.Module
    way: ClippingWay
    pass_rows: int = PASS_ROWS
    """Number of rows of every pass."""
    stride: int = 1
    """Number of lanes of a pass, in one of which a unit lies by its own number."""
    alone: str = ""
    """Why every row has a pass of its own, which is slow; empty where rows share passes."""

    @property
    def watches_draws(self) -> bool:
        return self.way.watches_draws

    def gradient_sum(
        self, row_losses: RowLosses, rows: LabelledRows, *, clip_norm: float, units: Tensor | None = None
    ) -> list[Tensor]:
        """The clipped sum; `units` are the rows' own numbers, which do not depend on who else was sampled."""
        total = LongSum(trainable_parameters(self.module))
        for part, counted in equal_passes(rows, self.pass_rows, units=units, stride=self.stride):
            found = self.way.gradient_sum(row_losses, part, clip_norm=clip_norm, counted=counted)
            total.add(found)
        return total.total()


def clipping_plan(
    module: nn.Module,
    row_losses: RowLosses,
    public_rows: PublicRows,
    *,
    rows_may_share: bool,
    pass_rows: int = PASS_ROWS,
) -> ClippingPlan:
    """The fastest way that holds for a network that somebody brings: tried on rows that are made up.

    Only where `rows_may_share` a pass do they: where no code of the user's own sees a batch. Elsewhere every row runs
    alone, so that no other row can enter its gradient, whatever that code does with the rows of a real batch.

    Raises `UnclippableModule` where a row's loss depends on another row, which no way can repair.
    """
    refuse_mixing(module)
    probe = Probe(module, row_losses, public_rows)
    probe.require_separate_rows()
    why = NO_COMMON_WAY
    for way in _agreeing(probe, module, rows_may_share=rows_may_share):
        if (plan := steady_plan(probe, module, way, pass_rows)) is not None:
            return plan
        if why != NOT_APART:  # the fastest way that could have shared passes says best why none does
            why = NOT_APART if way.pass_rows > 1 else TOO_LARGE
    return one_by_one(module, why)


def _agreeing(probe: Probe, module: nn.Module, *, rows_may_share: bool) -> Iterator[BookKeeping | RowByRow]:
    """The ways on which several rows run together and that find the right sum, the fastest first."""
    for vectorised in (True, False) if rows_may_share else ():
        if _agrees(probe, BookKeeping, module, vectorised=vectorised):
            yield BookKeeping(module, vectorised=vectorised)
            break
    if _agrees(probe, RowByRow, module, vectorised=True) and not _own_vmap_rules(torch.autograd.Function):
        yield RowByRow(module, vectorised=True)


def steady_plan(probe: Probe, module: nn.Module, way: BookKeeping | RowByRow, pass_rows: int) -> ClippingPlan | None:
    """The way in passes in which no row moves a bit of another one's gradient: of this size, or of the largest.

    Passes without lanes come first, because lanes are filled unevenly, and take a pass or two more.
    """
    largest = 2 ** (way.pass_rows.bit_length() - 1)  # powers of two: their rows lie alike in memory
    for stride in STRIDES:
        for size in sorted({min(pass_rows, largest), largest}):
            if stride < size and probe.keeps_rows_apart(way, size, stride=stride):
                return ClippingPlan(module, way, size, stride)
    return None


def one_by_one(module: nn.Module, why: str) -> ClippingPlan:
    """Rows one after the other, each without any company: slow, and right on every machine."""
    return ClippingPlan(module, RowByRow(module, vectorised=False), 1, alone=why)


def _own_vmap_rules(function: type[torch.autograd.Function]) -> bool:
    """Whether somebody has written a rule for `vmap`: it is given all rows of a chunk, and may mix them."""
    return any(
        (not rules.__module__.startswith("torch.") and rules.vmap is not torch.autograd.Function.vmap)
        or _own_vmap_rules(rules)
        for rules in function.__subclasses__()
    )


def _agrees(probe: Probe, way: type[BookKeeping] | type[RowByRow], module: nn.Module, *, vectorised: bool) -> bool:
    try:
        with warnings.catch_warnings():
            # An operation that vmap knows only as a loop, and says so, is faster without vmap.
            warnings.filterwarnings("error", message="There is a performance drop")
            return probe.agrees(way(module, vectorised=vectorised))
    except Exception:  # noqa: BLE001 - books do not hold, or vmap fails, which has an error for every operation
        return False
