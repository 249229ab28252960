"""What a policy leaves to a run, and that the run's ledger stops there, whatever was planned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.errors import BudgetExceeded
from siloseal.federation.job.job import Job
from siloseal.federation.privacy.events import GaussianRelease, SampledGaussianSteps
from siloseal.silo.allowance import NOTHING_SPENT, Allowance, Spent, roughly
from siloseal.silo.config import Policy
from siloseal.silo.ledger import Budget, Ledger

RATE, NOISE = 0.05, 1.5
PLANNED = SampledGaussianSteps(RATE, NOISE, 100)
DELTA = 1e-5
EARLIER = Spent((GaussianRelease(2.0),))


def policy_of(largest_epsilon: float) -> Policy:
    strict = {"largest_delta": DELTA, "fewest_silos": 3, "secure_sums": ["ckks"], "privacy": ["example_level"]}
    return Policy.model_validate({**strict, "largest_epsilon": largest_epsilon})


@pytest.fixture
def ledger_of(small_job: Callable[..., Job], tmp_path: Path) -> Callable[..., Ledger]:
    """A ledger with room in its own budget, which the policy of its silo may not leave it."""

    def make(largest_epsilon: float, **more: Any) -> Ledger:
        allowance = Allowance(policy_of(largest_epsilon), small_job(), EARLIER, (PLANNED,))
        path, budget = tmp_path / "ledger.jsonl", Budget(100.0, DELTA)
        return Ledger(path, silo="north", budget=budget, **{"allowance": allowance, **more})

    return make


def steps(count: int) -> SampledGaussianSteps:
    return SampledGaussianSteps(RATE, NOISE, count)


class TestALedgerWithAnAllowance:
    def test_is_charged_as_planned_whatever_the_portions(self, ledger_of: Callable[..., Ledger]) -> None:
        limit = EARLIER.epsilon_with([PLANNED], DELTA)
        with ledger_of(limit) as ledger:
            for portion in (10, 50, 40):
                ledger.charge(steps(portion), phase="phase_1")

    def test_stops_where_all_runs_together_would_cost_an_example_too_much(
        self, ledger_of: Callable[..., Ledger], tmp_path: Path
    ) -> None:
        """As after crashes, which charge for steps twice. Its own budget would last."""
        limit = EARLIER.epsilon_with([steps(130)], DELTA)
        with ledger_of(limit) as ledger:
            ledger.charge(PLANNED, phase="phase_1")
            ledger.charge(steps(30), phase="phase_1")
            before = (tmp_path / "ledger.jsonl").read_bytes()
            with pytest.raises(BudgetExceeded, match=r"^north's runs .* policy\.largest_epsilon"):
                ledger.charge(steps(1), phase="phase_2")
            assert (tmp_path / "ledger.jsonl").read_bytes() == before
            assert len(ledger.charges) == 2

    def test_still_knows_after_a_restart_what_it_was_charged(self, ledger_of: Callable[..., Ledger]) -> None:
        limit = EARLIER.epsilon_with([steps(130)], DELTA)
        with ledger_of(limit) as ledger:
            ledger.charge(steps(130), phase="phase_1")
        with ledger_of(limit) as ledger, pytest.raises(BudgetExceeded):
            ledger.charge(steps(1), phase="phase_2")

    def test_counts_events_of_another_kind_than_the_planned_ones(self, ledger_of: Callable[..., Ledger]) -> None:
        with ledger_of(EARLIER.epsilon_with([PLANNED], DELTA)) as ledger:
            with pytest.raises(BudgetExceeded):
                ledger.charge(GaussianRelease(0.5), phase="warm_start")
            ledger.charge(GaussianRelease(5.0), phase="warm_start")

    def test_has_no_policy_where_runs_are_simulated(self, ledger_of: Callable[..., Ledger]) -> None:
        with ledger_of(0.1, allowance=None) as ledger:
            ledger.charge(PLANNED, phase="phase_1")


def test_what_is_said_of_an_epsilon_is_rounded_up_to_a_twentieth_of_the_limit() -> None:
    assert [roughly(found, 10.0) for found in (0.0, 0.01, 5.0, 5.01, 12.2)] == [0.0, 0.5, 5.0, 5.5, 12.5]
    assert roughly(float("inf"), 10.0) == float("inf")


def test_nothing_spent_costs_nothing() -> None:
    assert NOTHING_SPENT.epsilon_with([], DELTA) == 0.0
