"""The plan's choice for many kinds of layers, and the sum that it then finds, against micro-batches of one row."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.federation.errors import UnclippableModule
from siloseal.models.learner import LabelledRows, Rows
from siloseal.silo.training.clipping.book_keeping import BookKeeping
from siloseal.silo.training.clipping.plan import NO_COMMON_WAY, NOT_APART, TOO_LARGE, ClippingPlan, clipping_plan
from siloseal.silo.training.clipping.probe import Probe
from siloseal.silo.training.clipping.row_by_row import RowByRow
from siloseal.silo.training.clipping.way import PASS_ROWS
from tests.silo.training.clipping.networks import (
    ALONE,
    BOOK_KEPT,
    NETWORKS,
    Case,
    case_of,
    clipped,
    flat,
    twice,
)

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")  # torch says so of even kernels


def plan_of(case: Case) -> ClippingPlan:
    return clipping_plan(case.module, case.row_losses, case.public_rows, rows_may_share=True)


@pytest.mark.parametrize("name", BOOK_KEPT)
def test_it_keeps_books_wherever_they_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Probe, "keeps_rows_apart", lambda *_, **__: True
    )  # for rows of odd lengths not every machine does
    assert isinstance(plan_of(case_of(name)).way, BookKeeping)


def test_rows_share_no_product_that_depends_on_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a row lies in memory decides its last bits on some machines, for rows of odd lengths."""
    linear, places = functional.linear, torch.arange(1.0, PASS_ROWS + 1.0, dtype=torch.float64)

    def shifting(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        found = linear(inputs, weight, bias)
        return found * (1 + 1e-15 * places[: len(found), None]).to(found)

    monkeypatch.setattr(functional, "linear", shifting)
    assert isinstance(plan_of(case_of("linear")).way, RowByRow)


@pytest.mark.parametrize("name", ["linear", "convolution", "weight norm"])
def test_rows_run_one_by_one_where_they_never_keep_their_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Probe, "keeps_rows_apart", lambda *_, **__: False)
    plan = plan_of(case_of(name))
    assert isinstance(plan.way, RowByRow)
    assert plan.pass_rows == plan.way.pass_rows == 1
    assert plan.alone == NOT_APART


@pytest.mark.parametrize(("name", "why"), [("linear", ""), ("hidden state of a gru", NO_COMMON_WAY)])
def test_whoever_trains_learns_why_rows_run_one_by_one(name: str, why: str) -> None:
    plan = plan_of(case_of(name))
    assert plan.alone == why
    assert (plan.pass_rows == 1) == bool(why)


def test_a_network_of_which_two_rows_are_too_large_runs_its_rows_one_by_one() -> None:
    network = twice(nn.Linear(2048, 2048)).double()
    assert plan_of(Case(network, (2048,), words=False)).alone == TOO_LARGE


def test_of_a_large_network_whose_rows_do_not_keep_their_bits_that_is_what_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Books hold, for many rows at once; row by row, two of them would be too large."""
    monkeypatch.setattr(Probe, "keeps_rows_apart", lambda *_, **__: False)
    network = nn.Sequential(nn.Linear(2048, 2048), nn.Tanh(), nn.Linear(2048, 3)).double()
    assert plan_of(Case(network, (2048,), words=False)).alone == NOT_APART


@pytest.mark.parametrize("name", ALONE)
def test_rows_run_alone_where_books_do_not_hold(name: str) -> None:
    assert isinstance(plan_of(case_of(name)).way, RowByRow)


@pytest.mark.parametrize("name", NETWORKS)
class TestEveryNetwork:
    def test_its_sum_equals_that_of_micro_batches(self, name: str) -> None:
        case = case_of(name).without_dropout()
        plan = plan_of(case)
        for count in (1, 6):
            rows = case.public_rows(count)
            gradients = case.row_gradients(rows)
            clip_norm = float(torch.stack([row.norm() for row in gradients]).median()) * 0.9
            found = flat(plan.gradient_sum(case.row_losses, rows, clip_norm=clip_norm))
            torch.testing.assert_close(found, clipped(gradients, clip_norm), rtol=1e-6, atol=1e-9)

    def test_an_empty_batch_has_a_zero_gradient(self, name: str) -> None:
        case = case_of(name)
        found = plan_of(case).gradient_sum(case.row_losses, _nobody(case), clip_norm=1.0)
        assert [part.shape for part in found] == [part.shape for part in case.parameters()]
        assert not flat(found).any()

    def test_the_plan_leaves_no_trace(self, name: str) -> None:
        case = case_of(name)
        state = torch.get_rng_state()
        before = {name: part.clone() for name, part in case.module.state_dict().items()}
        modes = [part.training for part in case.module.modules()]
        plan_of(case)
        assert torch.equal(torch.get_rng_state(), state)
        assert modes == [part.training for part in case.module.modules()]
        assert all(torch.equal(part, before[name]) for name, part in case.module.state_dict().items())
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in case.module.modules())

    def test_a_row_that_overflows_has_no_influence(self, name: str) -> None:
        case = case_of(name).without_dropout()
        plan, rows = plan_of(case), case.public_rows(4)

        def overflowing(batch: Rows) -> Tensor:  # by its label, so that words overflow, too
            return case.row_losses(batch) * torch.where(batch.labels == 0, float("inf"), 1.0)

        rows = Rows(rows.inputs, torch.tensor([1, 0, 2, 1]))
        others = [gradient for n, gradient in enumerate(case.row_gradients(rows)) if n != 1]
        found = flat(plan.gradient_sum(overflowing, rows, clip_norm=1e-3))
        torch.testing.assert_close(found, clipped(others, 1e-3), rtol=1e-6, atol=1e-9)


def _nobody(case: Case) -> Rows:
    rows = case.public_rows(1)
    return Rows(rows.inputs[:0], rows.labels[:0])


@pytest.mark.parametrize("name", ["residual block", "layer that runs twice"])
def test_a_large_batch_is_taken_in_parts(name: str) -> None:
    case, sizes = case_of(name), []
    plan, rows = plan_of(case), case.public_rows(2 * PASS_ROWS + 3)

    def row_losses(batch: LabelledRows) -> Tensor:
        sizes.append(len(batch.labels))
        return case.row_losses(batch)

    found = flat(plan.gradient_sum(row_losses, rows, clip_norm=0.1))
    torch.testing.assert_close(found, clipped(case.row_gradients(rows), 0.1), rtol=1e-6, atol=1e-9)
    assert max(sizes) <= PASS_ROWS


def test_a_network_with_a_large_part_that_runs_again_is_taken_in_smaller_passes() -> None:
    sizes: list[int] = []
    network = nn.Sequential(nn.ConvTranspose2d(64, 512, 3), nn.Flatten(), nn.Linear(512 * 9, 3))
    case = Case(network.double(), (64, 1, 1), words=False)
    plan, rows = plan_of(case), case.public_rows(PASS_ROWS)

    def row_losses(batch: LabelledRows) -> Tensor:
        sizes.append(len(batch.labels))
        return case.row_losses(batch)

    found = flat(plan.gradient_sum(row_losses, rows, clip_norm=0.1))
    assert isinstance(plan.way, BookKeeping)
    assert max(sizes) == plan.pass_rows < PASS_ROWS
    torch.testing.assert_close(found, clipped(case.row_gradients(rows), 0.1), rtol=1e-6, atol=1e-9)


def test_dropout_differs_from_row_to_row_and_from_step_to_step() -> None:
    case = case_of("dropout")
    plan, row = plan_of(case), case.public_rows(1)
    same = Rows(row.inputs.expand(2, -1), row.labels.expand(2))
    one, other = (flat(plan.gradient_sum(case.row_losses, same, clip_norm=1e9)) for _ in range(2))
    assert not torch.equal(one, other)


def test_a_layer_that_draws_random_numbers_does_not_run_again() -> None:
    """A parameter beside a dropout of the same module: its rows must run alone, each in one run."""

    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4))

        def forward(self, rows: Tensor) -> Tensor:
            return nn.functional.dropout(rows * self.factor, 0.5, self.training)[:, :3]

    case = Case(Noisy().double(), (4,), words=False)
    plan = plan_of(case)
    assert isinstance(plan.way, RowByRow)
    assert flat(plan.gradient_sum(case.row_losses, case.public_rows(40), clip_norm=1.0)).any()


@pytest.mark.parametrize("name", ["residual block", "vision transformer", "tied weights"])
def test_frozen_parameters_take_no_part(name: str) -> None:
    case = case_of(name)
    frozen, *trained = case.module.parameters()
    frozen.requires_grad_(False)
    rows = case.public_rows(5)
    found = plan_of(case).gradient_sum(case.row_losses, rows, clip_norm=0.01)
    assert [part.shape for part in found] == [part.shape for part in trained]
    torch.testing.assert_close(flat(found), clipped(case.row_gradients(rows), 0.01), rtol=1e-6, atol=1e-9)


def test_more_losses_than_rows_are_refused() -> None:
    case = case_of("linear")
    with pytest.raises(UnclippableModule):
        clipping_plan(case.module, lambda rows: case.row_losses(rows).repeat(2), case.public_rows, rows_may_share=True)
