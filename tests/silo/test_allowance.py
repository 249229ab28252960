"""What a policy leaves to a run, and that the run's ledger stops there, whatever was planned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import Progress
from siloseal.federation.errors import BudgetExceeded
from siloseal.federation.job.job import Job
from siloseal.federation.privacy.events import (
    DiscreteGaussianRelease,
    GaussianRelease,
    NoisyBitsRelease,
    SampledGaussianSteps,
    SkellamRelease,
)
from siloseal.silo.allowance import NOTHING_SPENT, Allowance, Spent, cost_of_one_example, roughly
from siloseal.silo.config import Policy
from siloseal.silo.data.tables import Table
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.queries import events_of_queries

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
        limit = EARLIER.plus(Spent((PLANNED,))).epsilon(DELTA)
        with ledger_of(limit) as ledger:
            for portion in (10, 50, 40):
                ledger.charge(steps(portion), phase="phase_1")

    def test_stops_where_all_runs_together_would_cost_an_example_too_much(
        self, ledger_of: Callable[..., Ledger], tmp_path: Path
    ) -> None:
        """As after crashes, which charge for steps twice. Its own budget would last."""
        limit = EARLIER.plus(Spent((steps(130),))).epsilon(DELTA)
        with ledger_of(limit) as ledger:
            ledger.charge(PLANNED, phase="phase_1")
            ledger.charge(steps(30), phase="phase_1")
            before = (tmp_path / "ledger.jsonl").read_bytes()
            with pytest.raises(BudgetExceeded, match=r"^north's runs .* policy\.largest_epsilon"):
                ledger.charge(steps(1), phase="phase_2")
            assert (tmp_path / "ledger.jsonl").read_bytes() == before
            assert len(ledger.charges) == 2

    def test_still_knows_after_a_restart_what_it_was_charged(self, ledger_of: Callable[..., Ledger]) -> None:
        limit = EARLIER.plus(Spent((steps(130),))).epsilon(DELTA)
        with ledger_of(limit) as ledger:
            ledger.charge(steps(130), phase="phase_1")
        with ledger_of(limit) as ledger, pytest.raises(BudgetExceeded):
            ledger.charge(steps(1), phase="phase_2")

    def test_counts_events_of_another_kind_than_the_planned_ones(self, ledger_of: Callable[..., Ledger]) -> None:
        with ledger_of(EARLIER.plus(Spent((PLANNED,))).epsilon(DELTA)) as ledger:
            with pytest.raises(BudgetExceeded):
                ledger.charge(GaussianRelease(0.5), phase="warm_start")
            ledger.charge(GaussianRelease(5.0), phase="warm_start")

    def test_has_no_policy_where_runs_are_simulated(self, ledger_of: Callable[..., Ledger]) -> None:
        with ledger_of(0.1, allowance=None) as ledger:
            ledger.charge(PLANNED, phase="phase_1")


WHO = np.array(["ann", "ann", "bob", "bob", "cy", "cy"], dtype=object)
WARDS = np.array(["a", "d", "e", "c", "b", "b"], dtype=object)
AGES = np.array(["5", "95", "40", "60", "50", "10"], dtype=object)
TABLE = Table("records", {"who": WHO, "ward": WARDS, "age": AGES}, np.arange(2, 8))
QUERIES: list[dict[str, Any]] = [
    {"kind": "histogram", "column": "ward", "values": ["a", "b", "c", "d", "e"]},
    {"kind": "mean", "column": "age", "low": 0, "high": 100},
    {"kind": "quantiles", "column": "age", "low": 0, "high": 100},
    {"kind": "heavy_hitters", "column": "ward"},
    {"kind": "distinct", "column": "ward"},
]


@pytest.mark.parametrize("records", [1, 2])
@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked["kind"])
def test_a_record_of_a_person_moves_a_query_no_further_than_it_is_counted_for(
    asked: dict[str, Any], records: int
) -> None:
    """Where fewer count than a person has, the next one takes the place of the one that is taken out."""
    job = AnalyticsJob.model_validate(
        {
            "name": "look",
            "data": {"kind": "csv", "folder": "."},
            "silos": {"names": ["north", "east", "south"]},
            "secure_sum": {"kind": "secagg"},
            "privacy": {"epsilon": 2, "delta": 1e-6, "person": {"column": "who", "records": records}},
            "queries": [asked],
        }
    )
    (query,), progress = job.queries, Progress(key=bytes(32))

    def count(table: Table) -> NDArray[np.int64]:
        kept = table.first_of_each("who", records)
        return query.count(kept.numbers(query.column) if query.numeric else kept.texts(query.column), progress)

    def without(place: int) -> Table:
        return TABLE.select(np.delete(np.arange(len(TABLE)), place))

    moves = [np.abs(count(TABLE) - count(without(place))) for place in range(len(TABLE))]
    (counted,) = set(cost_of_one_example(job, events_of_queries(job, [])).events)
    match counted:
        case NoisyBitsRelease(cells=cells):
            assert max(np.count_nonzero(move) for move in moves) <= cells
        case SkellamRelease(l2=l2, l1=l1) | DiscreteGaussianRelease(l2=l2, l1=l1):
            assert max(np.linalg.norm(move) for move in moves) <= l2 * (1 + 1e-12)
            assert max(move.sum() for move in moves) <= l1 * (1 + 1e-12)
        case _:
            raise AssertionError(f"no query is charged for {counted}")


def test_what_is_said_of_an_epsilon_is_rounded_up_to_a_twentieth_of_the_limit() -> None:
    assert [roughly(found, 10.0) for found in (0.0, 0.01, 5.0, 5.01, 12.2)] == [0.0, 0.5, 5.0, 5.5, 12.5]
    assert roughly(float("inf"), 10.0) == float("inf")


def test_nothing_spent_costs_nothing() -> None:
    assert NOTHING_SPENT.epsilon(DELTA) == 0.0
