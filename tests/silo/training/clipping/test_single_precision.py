"""How far one unit moves clipped sums of networks that run in single precision: what the noise's allowance is for."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from siloseal.federation.privacy.mechanisms.gaussian_noise import ALLOWANCE
from siloseal.models.classifier.learner import ClassifierLearner
from siloseal.models.learner import Rows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.layers.rows import squares
from siloseal.silo.training.clipping.plan import ClippingPlan, clipping_plan, one_by_one
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import PASS_ROWS, ClippingWay
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
    """Rows that are all alike have the longest sum, and roundings that point alike."""
    case = single(name)
    way, many = way_of(case, kind), 64 if kind == "one after the other" else 1000
    for rows in (single_rows(case, 2), single_rows(case, 64), alike(single_rows(case, many))):
        assert_moved_little(way, case, rows, slice(None, -1))


@pytest.mark.parametrize("name", ["linear", "embedding", "layer norm"])
def test_one_unit_among_tens_of_thousands_moves_a_sum_no_further(name: str) -> None:
    """Without the first unit, all rows that follow are shared out in another way."""
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


@pytest.mark.parametrize(("size", "total"), [(PASS_ROWS, 4096), (1024, 1024)], ids=["in passes", "one by one"])
def test_rows_that_are_chosen_for_their_roundings_move_a_sum_no_further(size: int, total: int) -> None:
    """In single precision one of these rows moves the sum by 8, or 16, allowances too much.

    With the first unit the sum of a pass crosses a power of two before its small rows come, and without it just after:
    there each small row is rounded up, here down, and in every pass alike.
    """
    top = size // 2  # where numbers in single precision lie twice as far apart
    step = top * 2.0**-24
    ramp = [1.0] * (top - 1) + [1.0 - (top + 40) * step]
    values = ([(top + 60) * step, *ramp] + [1.01 * step] * (size - 1 - len(ramp))) * (total // size)
    values[0] = 1.0
    inputs = torch.stack([torch.full((total,), 2.0**-10, dtype=torch.float64), torch.tensor(values)], dim=1).float()
    learner = ClassifierLearner(nn.Sequential(nn.Linear(2, 2, bias=False)))
    with torch.no_grad():
        learner.private_module[0].weight.copy_(torch.tensor([[6e5, 0.0], [-6e5, 0.0]]))  # each loss has the slope 1
    clip_norm = math.sqrt(2 * (1 + 2.0**-20)) * (1 + 1e-9)
    shared = ClippingPlan(learner.private_module, BookKeeping(learner.private_module), size)
    plan = shared if size == PASS_ROWS else one_by_one(learner.private_module, "rows do not keep their bits")
    assert_chosen_row_moves_little(plan, learner, Rows(inputs, torch.ones(total, dtype=torch.int64)), clip_norm)


@pytest.mark.parametrize("kind", ["sequence", "convolution"])
def test_rows_whose_places_cancel_each_other_move_a_sum_no_further(kind: str) -> None:
    """In single precision one of 128 sequences moves the sum of one pass by 10 allowances too much.

    Each row goes far up in one place, adds little in many, and comes down again. The one row that is far shorter decides
    whether all the little ones are rounded up or down.
    """
    width, places, factor, small = 128, 24, 3e3, 1e-5
    layer = nn.Linear(width, width, bias=False) if kind == "sequence" else nn.Conv1d(width, width, 1, bias=False)
    module = nn.Sequential(layer, nn.Flatten(), nn.Linear(places * width, 2, bias=False))
    head = torch.zeros(2, places, width)
    head[:, :, 0] = torch.tensor([0.5, -0.5])[:, None]
    head[:, -1, 1] = torch.tensor([factor, -factor])
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[1, 1] = factor
        module[2].weight.copy_((head if kind == "sequence" else head.mT).flatten(1))
    top, period, little = 64.0, 8, places - 3
    step = top * 2.0**-24
    ramp = (period * little + 40) * step
    rows = torch.zeros(PASS_ROWS, places, dtype=torch.float64)
    rows[:, 0], rows[:, -2] = top - ramp, ramp - top
    rows[:, 1 : 1 + little] = 1.01 * step
    rows[::period] = 0.0
    rows[::period, 1] = ramp + 20 * step
    rows[0, 1] = 0.9
    inputs = torch.zeros(PASS_ROWS, places, width)
    inputs[:, :, 0], inputs[:, -1, 1] = rows.float(), small
    inputs = inputs if kind == "sequence" else inputs.mT.contiguous()
    learner = ClassifierLearner(module)
    labels = torch.ones(PASS_ROWS, dtype=torch.int64)
    plan = ClippingPlan(learner.private_module, BookKeeping(learner.private_module))
    alone = float(flat(plan.gradient_sum(learner.row_losses, Rows(inputs[:1], labels[:1]), clip_norm=1e6)).norm())
    assert_chosen_row_moves_little(plan, learner, Rows(inputs, labels), alone * (1 + 1e-6))


def test_small_squares_are_not_lost_beside_large_ones() -> None:
    """Added up in single precision, a thousandth of this norm would be missing, which is more than the allowance."""
    row = torch.full((1, 1_000_000), 2.0**-12.6)
    row[:, :64] = 1 / 8
    exact = float(torch.linalg.vector_norm(row.double()))
    assert float(squares(row).sqrt()) == pytest.approx(exact, rel=2.0**-16)


def alike(rows: Rows) -> Rows:
    return Rows(*(part[-1:].expand(part.shape).contiguous() for part in (rows.inputs, rows.labels)))


def assert_moved_little(way: ClippingWay, case: Case, rows: Rows, kept: slice) -> None:
    moved = (_sum(way, case, rows) - _sum(way, case, Rows(rows.inputs[kept], rows.labels[kept]))).norm()
    assert 0.99 * CLIP_NORM < moved < CLIP_NORM * (1 + ALLOWANCE / 10)


def assert_chosen_row_moves_little(
    plan: ClippingPlan, learner: ClassifierLearner, rows: Rows, clip_norm: float
) -> None:
    """The first row moves the sum by nearly the clip norm, and by a tenth of the allowance more at most."""
    whole, rest = (
        flat(plan.gradient_sum(learner.row_losses, Rows(rows.inputs[n:], rows.labels[n:]), clip_norm=clip_norm))
        for n in (0, 1)
    )
    assert 0.99 * clip_norm < (whole - rest).norm() < clip_norm * (1 + ALLOWANCE / 10)


def _sum(way: ClippingWay, case: Case, rows: Rows) -> Tensor:
    return flat(way.gradient_sum(case.row_losses, rows, clip_norm=CLIP_NORM)).double()
