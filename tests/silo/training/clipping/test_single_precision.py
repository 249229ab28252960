"""How far one unit moves clipped sums that are computed in single precision: the premise of the noise's allowance."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.plan import ClippingPlan, clipping_plan
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import ClippingWay
from tests.silo.training.clipping.networks import CLASSES, Case, case_of, flat

CLIP_NORM = 1e-3  # far below all gradients: every row is clipped, and moves the sum as far as it may

MANY = 32_000

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
    for rows in (single_rows(case, 2), single_rows(case, 64), alike(single_rows(case, many))):
        assert_moved_little(way, case, rows, slice(None, -1))


@pytest.mark.parametrize("name", ["linear", "embedding", "layer norm"])
def test_one_unit_among_tens_of_thousands_moves_a_sum_no_further(name: str) -> None:
    """Sums within sums of doubles. Without the first unit, all rows that follow are shared out in another way."""
    case = single(name)
    way, rows = BookKeeping(case.module), single_rows(case, MANY)
    assert_moved_little(way, case, alike(rows), slice(None, -1))
    assert_moved_little(way, case, rows, slice(1, None))


def test_one_unit_among_tens_of_thousands_moves_a_sum_of_many_passes_no_further() -> None:
    case = single("embedding")
    way = ClippingPlan(case.module, BookKeeping(case.module), 64)
    assert_moved_little(way, case, alike(single_rows(case, MANY)), slice(None, -1))


def test_a_unit_that_adds_something_in_many_places_moves_a_sum_no_further() -> None:
    """A convolution of images of 28x28: a sum of three quarters of a million addends, in passes and at once."""
    torch.manual_seed(5)
    head = nn.Linear(4, CLASSES).requires_grad_(False)
    module = nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    case = Case(module, (1, 28, 28), words=False)
    for way in (BookKeeping(module), ClippingPlan(module, BookKeeping(module))):
        assert_moved_little(way, case, alike(single_rows(case, 1000)), slice(None, -1))


def alike(rows: Rows) -> Rows:
    return Rows(*(part[-1:].expand(part.shape).contiguous() for part in (rows.inputs, rows.labels)))


def assert_moved_little(way: ClippingWay, case: Case, rows: Rows, kept: slice) -> None:
    moved = (_sum(way, case, rows) - _sum(way, case, Rows(rows.inputs[kept], rows.labels[kept]))).norm()
    assert 0.99 * CLIP_NORM < moved < CLIP_NORM * (1 + ALLOWANCE / 10)


def _sum(way: ClippingWay, case: Case, rows: Rows) -> Tensor:
    return flat(way.gradient_sum(case.row_losses, rows, clip_norm=CLIP_NORM)).double()
