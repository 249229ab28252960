"""Random check-ins: bounds against recorded values, what is refused, and who is used in the simulation."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.experiments.check_ins import (
    ABSENT,
    CheckIns,
    Guarantee,
    fixed_window_epsilon,
    fixed_window_guarantee,
    largest_local_delta,
    reported_epsilon,
    shuffled_epsilon,
)
from siloseal.federation.errors import ConfigError, UncountableEvent
from siloseal.federation.randomness import Randomness, SeededRandomness

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "check_ins.json").read_text())
FALSE_ALARM = 1e-6
"""Of each statistical test, had its seed not been fixed."""


def rows(name: str) -> list[Any]:
    found = [row for row in VECTORS if row["name"] == name]
    assert found
    return [pytest.param(row, id=str(row["inputs"])) for row in found]


def bound_at(inputs: dict[str, Any]) -> float:
    slots, delta = inputs["m"], inputs["delta"]
    return fixed_window_epsilon(inputs["eps0"], participation=inputs["p0"], slots=slots, delta=delta)


class TestTheBounds:
    @pytest.mark.parametrize("row", rows("random_checkins.fixed_window_bound"))
    def test_a_fixed_window_equals_the_recorded_value(self, row: dict[str, Any]) -> None:
        assert bound_at(row["inputs"]) == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])

    @pytest.mark.parametrize("row", rows("random_checkins.exact_binary_rr_lower_check"))
    def test_it_is_no_less_than_what_binary_randomised_response_really_costs(self, row: dict[str, Any]) -> None:
        assert bound_at(row["inputs"]) >= row["expected"]

    @pytest.mark.parametrize("row", rows("shuffle.feldman_mcmillan_talwar_closed_form"))
    def test_a_real_shuffler_equals_the_recorded_value(self, row: dict[str, Any]) -> None:
        given = row["inputs"]
        found = shuffled_epsilon(given["eps0"], clients=given["n"], delta=given["delta"])
        assert found == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])

    def test_a_consortium_gains_nothing_so_the_local_epsilon_is_reported(self) -> None:
        assert fixed_window_epsilon(1.0, participation=1.0, slots=100, delta=1e-6) == pytest.approx(1.529, abs=1e-3)
        assert reported_epsilon(1.0, participation=1.0, slots=100, delta=1e-6) == 1.0

    def test_the_bound_is_reported_from_230_slots_on(self) -> None:
        assert reported_epsilon(1.0, participation=1.0, slots=229, delta=1e-6) == 1.0
        assert reported_epsilon(1.0, participation=1.0, slots=230, delta=1e-6) < 1.0

    def test_no_local_epsilon_overflows(self) -> None:
        assert reported_epsilon(5000.0, participation=1.0, slots=10**6, delta=1e-6) == 5000.0

    def test_fewer_slots_more_participation_and_a_smaller_delta_cost_more(self) -> None:
        epsilon = fixed_window_epsilon(1.0, participation=0.5, slots=1000, delta=1e-6)
        assert fixed_window_epsilon(1.0, participation=0.5, slots=900, delta=1e-6) > epsilon
        assert fixed_window_epsilon(1.0, participation=0.6, slots=1000, delta=1e-6) > epsilon
        assert fixed_window_epsilon(1.0, participation=0.5, slots=1000, delta=1e-7) > epsilon


class TestARandomiserThatHasADelta:
    SLOTS, DELTA, SLOT_DELTA = 10**6, 1e-6, 1e-14

    def guarantee(self, epsilon: float, delta: float) -> Guarantee:
        local = Guarantee(epsilon, delta)
        return fixed_window_guarantee(
            local, participation=1.0, slots=self.SLOTS, delta=self.DELTA, slot_delta=self.SLOT_DELTA
        )

    def test_it_is_counted_at_eight_times_its_epsilon_with_a_delta_for_every_slot(self) -> None:
        found = self.guarantee(0.1, largest_local_delta(0.1, self.SLOT_DELTA))
        bound = fixed_window_epsilon(0.8, participation=1.0, slots=self.SLOTS, delta=self.DELTA)
        assert found.epsilon == bound < 0.1
        assert found.delta == pytest.approx(1e-6 + 1e6 * (math.exp(bound) + 1) * 1e-14)

    def test_its_condition_is_the_theorems(self) -> None:
        tries = 2 + math.log(2 / 1e-12) / math.log(1 / (1 - math.exp(-5)))
        assert largest_local_delta(1.0, 1e-12) == pytest.approx((1 - math.exp(-1)) * 1e-12 / (4 * math.e * tries))

    def test_a_larger_delta_than_the_theorem_allows_is_refused(self) -> None:
        with pytest.raises(UncountableEvent):
            self.guarantee(0.1, 1.001 * largest_local_delta(0.1, self.SLOT_DELTA))

    def test_no_delta_is_small_enough_at_an_epsilon_beyond_use(self) -> None:
        with pytest.raises(UncountableEvent):
            self.guarantee(101.0, 1e-300)

    def test_where_nothing_is_gained_its_own_guarantee_stands(self) -> None:
        delta = largest_local_delta(1.0, self.SLOT_DELTA)
        assert self.guarantee(1.0, delta) == Guarantee(1.0, delta)

    def test_a_total_delta_of_one_or_more_is_refused(self) -> None:
        with pytest.raises(UncountableEvent):
            fixed_window_guarantee(Guarantee(0.1, 0.0), participation=1.0, slots=10**6, delta=1e-6, slot_delta=1e-6)


class TestWhatCannotBeCounted:
    @pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
    def test_a_local_epsilon_that_is_none(self, epsilon: float) -> None:
        with pytest.raises(UncountableEvent):
            fixed_window_epsilon(epsilon, participation=1.0, slots=100, delta=1e-6)
        with pytest.raises(UncountableEvent):
            Guarantee(epsilon, 0.0)

    @pytest.mark.parametrize(
        ("participation", "slots", "delta"), [(0.0, 9, 0.1), (1.1, 9, 0.1), (1.0, 0, 0.1), (1.0, 9, 0.0), (1.0, 9, 1.0)]
    )
    def test_a_window_or_delta_that_is_none(self, participation: float, slots: int, delta: float) -> None:
        with pytest.raises(UncountableEvent):
            fixed_window_epsilon(1.0, participation=participation, slots=slots, delta=delta)

    def test_a_delta_of_one_in_a_guarantee(self) -> None:
        with pytest.raises(UncountableEvent):
            Guarantee(1.0, 1.0)

    @pytest.mark.parametrize(("epsilon", "clients"), [(1.0, 100), (5.0, 10_000), (0.001, 232)])
    def test_a_crowd_too_small_for_the_shuffling_theorem(self, epsilon: float, clients: int) -> None:
        with pytest.raises(UncountableEvent):
            shuffled_epsilon(epsilon, clients=clients, delta=1e-6)

    def test_a_window_without_slots_clients_or_participation_is_no_window(self) -> None:
        for slots, clients, participation in ((0, 1, 0.5), (1, 0, 0.5), (1, 1, 0.0), (1, 1, 1.5)):
            with pytest.raises(
                ConfigError, match=rf"^CheckIns\(slots={slots}, clients={clients}, participation={participation}\)"
            ):
                CheckIns(slots, clients, participation)


class TestTheSimulation:
    def test_participants_are_as_many_as_chance_has_it_and_slots_are_uniform(self) -> None:
        window = CheckIns(slots=50, clients=100_000, participation=0.3)
        slots = window.check_in(SeededRandomness(1))
        there = slots[slots != ABSENT]
        assert stats.binomtest(there.size, window.clients, 0.3).pvalue > FALSE_ALARM
        assert stats.chisquare(np.bincount(there, minlength=window.slots)).pvalue > FALSE_ALARM

    def test_everyone_in_a_slot_is_as_likely_to_be_picked(self) -> None:
        window, randomness = CheckIns(slots=2, clients=5, participation=1.0), SeededRandomness(2)
        checked_in = np.array([1, ABSENT, 1, 1, 1])
        picked = [window.pick(checked_in, randomness) for _ in range(4000)]
        assert {int(slots[0]) for slots in picked} == {ABSENT}
        counts = np.bincount([slots[1] for slots in picked], minlength=5)
        assert counts[1] == 0
        assert stats.chisquare(counts[[0, 2, 3, 4]]).pvalue > FALSE_ALARM

    def test_every_client_is_used_at_most_once_and_in_the_slot_it_chose(self) -> None:
        window, randomness = CheckIns(slots=300, clients=400, participation=0.7), SeededRandomness(3)
        checked_in = window.check_in(randomness)
        picked = window.pick(checked_in, randomness)
        used = picked[picked != ABSENT]
        assert np.unique(used).size == used.size
        assert np.array_equal(checked_in[used], np.flatnonzero(picked != ABSENT))
        assert set(np.flatnonzero(picked == ABSENT)).isdisjoint(checked_in)

    def test_empty_slots_are_as_many_as_expected(self) -> None:
        """The mean of 200 windows; empty slots of one window vary less than independent ones would."""
        window, randomness, windows = CheckIns(slots=100, clients=150, participation=0.8), SeededRandomness(4), 200
        empty = [(window.pick(window.check_in(randomness), randomness) == ABSENT).sum() for _ in range(windows)]
        chance = window.expected_dummies / window.slots
        error = math.sqrt(window.slots * chance * (1 - chance) / windows)
        assert window.expected_dummies == pytest.approx(100 * (1 - 0.008) ** 150)
        assert abs(np.mean(empty) - window.expected_dummies) < stats.norm.isf(FALSE_ALARM / 2) * error

    def test_an_empty_slot_passes_zero_through_the_same_randomiser(self) -> None:
        window, seen = CheckIns(slots=200, clients=100, participation=0.5), list[str]()

        def randomiser(contribution: str, randomness: Randomness) -> str:
            seen.append(contribution)
            return f"noised {contribution}"

        updates = list(window.updates(lambda client: f"client {client}", "zero", randomiser, SeededRandomness(5)))
        assert len(updates) == window.slots  # no gap tells that nobody was there
        assert updates == [f"noised {contribution}" for contribution in seen]
        clients = [contribution for contribution in seen if contribution != "zero"]
        assert 0 < len(clients) == len(set(clients)) < window.slots

    def test_a_dummy_update_is_distributed_like_that_of_a_client_with_a_zero_gradient(self) -> None:
        """Kolmogorov and Smirnov's test for two samples."""
        window, dummies, clients = (
            CheckIns(slots=20_000, clients=20_000, participation=0.7),
            list[float](),
            list[float](),
        )
        origin = dummies

        def zero_gradient(client: int) -> NDArray[np.float64]:
            nonlocal origin
            origin = clients
            return np.zeros(1)

        def randomiser(gradient: NDArray[np.float64], randomness: Randomness) -> float:
            nonlocal origin
            update = float(gradient[0] + randomness.normals(1)[0])
            origin.append(update)
            origin = dummies
            return update

        updates = list(window.updates(zero_gradient, np.zeros(1), randomiser, SeededRandomness(6)))
        assert len(updates) == window.slots == len(dummies) + len(clients)
        assert min(len(dummies), len(clients)) > 5000
        assert stats.ks_2samp(dummies, clients).pvalue > FALSE_ALARM

    def test_a_contribution_is_asked_for_when_its_slot_comes(self) -> None:
        """So that it can be a gradient at the model that the updates before it made."""
        window, model = CheckIns(slots=20, clients=500, participation=1.0), 0.0
        updates = window.updates(lambda client: model, 0.0, lambda value, randomness: value + 1.0, SeededRandomness(7))
        for update in updates:
            model = update
        assert model == window.slots  # all slots are full but with a chance of 20 (19/20)^500 = 1.5e-10
