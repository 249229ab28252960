"""How far one unit moves clipped sums that are computed in single precision: the premise of the noise's allowance."""

from dataclasses import replace

import pytest
from torch import Tensor

from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.plan import clipping_plan
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import ClippingWay
from tests.silo.training.clipping.networks import Case, case_of, flat

CLIP_NORM = 1e-3  # far below all gradients: every row is clipped, and moves the sum as far as it may

CHOSEN = [
    "linear", "convolution", "convolution without padding", "depthwise convolution", "group norm", "layer norm",
    "parametric relu", "vision transformer", "embedding", "weight norm",
]  # fmt: skip
"""Among others those that were the furthest off when all networks were measured."""


def single(name: str) -> Case:
    case = case_of(name).without_dropout()
    return replace(case, module=case.module.float())


def single_rows(case: Case, count: int) -> Rows:
    rows = case.public_rows(count)
    return rows if case.words else Rows(rows.inputs.float(), rows.labels)


def way_of(case: Case, kind: str) -> ClippingWay:
    if kind == "plan":
        return clipping_plan(case.module, case.row_losses, lambda count: single_rows(case, count), rows_may_share=True)
    return RowByRow(case.module, vectorised=kind == "at once")


@pytest.mark.parametrize("kind", ["plan", "at once", "one after the other"])
@pytest.mark.parametrize("name", CHOSEN)
def test_one_unit_moves_a_sum_by_the_clip_norm_and_a_tenth_of_the_allowance_at_most(name: str, kind: str) -> None:
    """Rows that are all alike are the worst: their sum is as long as it can be, and its roundings point alike."""
    case = single(name)
    way, many = way_of(case, kind), 64 if kind == "one after the other" else 1000
    for count, alike in ((2, False), (64, False), (many, True)):
        rows = single_rows(case, count)
        if alike:
            rows = Rows(*(part[-1:].expand(part.shape).contiguous() for part in (rows.inputs, rows.labels)))
        moved = (_sum(way, case, rows) - _sum(way, case, Rows(rows.inputs[:-1], rows.labels[:-1]))).norm()
        assert 0.99 * CLIP_NORM < moved < CLIP_NORM * (1 + ALLOWANCE / 10)


def _sum(way: ClippingWay, case: Case, rows: Rows) -> Tensor:
    return flat(way.gradient_sum(case.row_losses, rows, clip_norm=CLIP_NORM)).double()
