"""Privacy loss distributions against recorded and exact values, against Renyi curves, and against worse pairs."""

import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy import stats

from siloseal.federation.privacy.accounting import Accounting, counted, epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.events import (
    Event,
    ExchangedGaussianSteps,
    GaussianRelease,
    SampledGaussianSteps,
    exchanged,
)
from siloseal.federation.privacy.loss_distributions import Composable, epsilon_by_losses

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())
ROWS = [row for row in VECTORS if row["name"] == "gaussian_poisson_sampled.epsilon"]


def by_losses(event: Composable, times: int, delta: float = 1e-5) -> float:
    return epsilon_by_losses({event: times}, delta)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["inputs"]))
def test_epsilon_is_the_recorded_one(row: dict[str, Any]) -> None:
    """Within a thousandth; at the smallest rates below it, where the recorded grid of 1e-4 is coarser."""
    inputs, recorded = row["inputs"], row["expected"]["pld"]
    event = SampledGaussianSteps(float(Fraction(inputs["q"])), inputs["sigma"], inputs["steps"])
    found = counted([event], inputs["delta"])
    assert (0.999 if event.sampling_rate > 2e-3 else 0.95) * recorded <= found.epsilon <= 1.001 * recorded
    assert found.epsilon < renyi_epsilon_of([event], inputs["delta"])


GRID = [
    SampledGaussianSteps(rate, noise, steps) for rate in (0.001, 0.3) for noise in (0.8, 5.0) for steps in (1, 50, 2000)
]


@pytest.mark.parametrize("event", GRID, ids=str)
def test_losses_are_never_above_renyi_curves_and_grow_with_rate_and_steps_and_shrink_with_noise(
    event: SampledGaussianSteps,
) -> None:
    rate, noise, steps = event.sampling_rate, event.noise_multiplier, event.steps
    renyi = renyi_epsilon_of([event], 1e-5)
    losses = epsilon_by_losses({SampledGaussianSteps(rate, noise, 1): steps}, 1e-5)
    assert losses <= renyi + 1e-9
    if losses > 0:
        for better in (
            SampledGaussianSteps(0.9 * rate, noise, steps),
            SampledGaussianSteps(rate, 1.1 * noise, steps),
            SampledGaussianSteps(rate, noise, max(1, steps - 1)),
        ):
            assert epsilon_of([better], 1e-5) <= epsilon_of([event], 1e-5) + (1e-9 if steps == 1 else 0.0)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize(("noise", "times"), [(1.0, 1), (16.0, 250), (500.0, 200_000)])
def test_losses_of_gaussians_are_never_below_the_exact_epsilon(noise: float, times: int, delta: float) -> None:
    exact = get_epsilon_gaussian(noise / math.sqrt(times), delta)
    assert exact <= by_losses(GaussianRelease(noise), times, delta) <= 1.002 * exact + 1e-4


def test_a_delta_that_double_precision_cannot_tell_from_nothing_is_not_counted() -> None:
    assert by_losses(GaussianRelease(5.0), 1, 1e-12) == math.inf
    event = SampledGaussianSteps(0.1, 5.0, 10)
    assert counted([event], 1e-12).accountant is Accounting.RENYI


def test_rounding_does_not_lower_epsilon_however_many_steps_there_are() -> None:
    """The power of a transform loses 6e-11 of delta in a million such steps: more than half of the smaller delta."""
    for delta in (1e-10, 3e-10):
        assert by_losses(GaussianRelease(100.0), 1_000_000, delta) >= get_epsilon_gaussian(0.1, delta)
    assert by_losses(GaussianRelease(100.0), 1_000_000, 3e-10) <= 1.03 * get_epsilon_gaussian(0.1, 3e-10)


def test_steps_beyond_a_million_are_counted_by_renyi_curves_alone() -> None:
    """Their losses would take minutes."""
    step, few = SampledGaussianSteps(0.99, 3000.0, 1), SampledGaussianSteps(0.5, 3000.0, 1)
    assert by_losses(step, 10**7) == math.inf
    assert epsilon_by_losses({step: 900_000, few: 200_000}, 1e-5) == math.inf
    assert counted([SampledGaussianSteps(0.99, 3000.0, 10**7)], 1e-5).accountant is Accounting.RENYI


def test_what_is_cut_off_counts_as_an_infinite_loss() -> None:
    """A delta below the mass of the tails that are dropped has no epsilon, before a composition and after it."""
    coarse = from_gaussian_mechanism(1.0, value_discretization_interval=1e-3, log_mass_truncation_bound=math.log(1e-4))
    assert coarse.get_delta_for_epsilon(50.0) > 5e-6  # exactly, it is below 1e-300
    assert coarse.get_epsilon_for_delta(5e-6) == math.inf
    assert coarse.compose(coarse, tail_mass_truncation=1e-2).get_delta_for_epsilon(50.0) > 4e-3
    assert coarse.self_compose(2, tail_mass_truncation=1e-2).get_delta_for_epsilon(50.0) > 4e-3


def test_releases_and_steps_compose() -> None:
    release, steps = GaussianRelease(2.0), SampledGaussianSteps(0.01, 1.1, 1000)
    both = counted([release, steps, release], 1e-5)
    twice = epsilon_of([GaussianRelease(2.0 / math.sqrt(2)), steps], 1e-5)
    assert both.accountant is Accounting.LOSSES
    assert both.epsilon == pytest.approx(twice, rel=1e-9)  # two Gaussians are one of half the variance
    assert epsilon_of([release, steps], 1e-5) < both.epsilon < renyi_epsilon_of([release, steps, release], 1e-5)


def test_each_step_more_costs_more_on_whatever_grid() -> None:
    """A ledger grants the steps of a plan one chunk after the other: no number of them may cost more than all."""
    costs = [epsilon_of([SampledGaussianSteps(0.02, 0.8, steps)], 1e-5) for steps in range(2480, 2520, 4)]
    assert all(few < more for few, more in pairwise(costs))


class TestAnExchangeUnderSampling:
    def test_is_dearer_than_the_coming_of_a_unit_and_cheaper_than_twice_the_move_without_sampling(self) -> None:
        for rate, noise in ((0.1, 1.2), (0.5, 3.0)):
            steps = SampledGaussianSteps(rate, noise, 40)
            whole: list[Event] = [GaussianRelease(noise / 2)] * 40
            assert epsilon_of([steps], 1e-5) < epsilon_of([exchanged(steps)], 1e-5) < epsilon_of(whole, 1e-5)

    @pytest.mark.parametrize("level", [0.0, 0.3, 1.0, 2.0])
    def test_no_pair_of_vectors_is_worse_than_opposite_ones_of_norm_one(self, level: float) -> None:
        """The hockey-stick divergence by a fine sum over the plane, for vectors at every angle and of every norm."""
        rate, noise = 0.3, 0.8
        x, y = np.meshgrid(*[np.linspace(-8, 8, 321)] * 2)

        def density(at: tuple[float, float]) -> np.ndarray:
            def normal(centre: tuple[float, float]) -> np.ndarray:
                return np.asarray(stats.norm.pdf(x, centre[0], noise) * stats.norm.pdf(y, centre[1], noise))

            return (1 - rate) * normal((0.0, 0.0)) + rate * normal(at)

        def divergence(one: tuple[float, float], other: tuple[float, float]) -> float:
            cell = (16 / 320) ** 2
            return float(np.maximum(density(one) - math.exp(level) * density(other), 0).sum() * cell)

        worst = divergence((-1.0, 0.0), (1.0, 0.0))
        for angle in np.linspace(0, math.pi, 7):
            for one, other in ((1.0, 1.0), (1.0, 0.6), (0.6, 1.0), (0.3, 0.3), (1.0, 0.0), (0.0, 1.0)):
                turned = (other * math.cos(angle), other * math.sin(angle))
                assert divergence((one, 0.0), turned) <= worst + 1e-9

    def test_composes_with_releases_and_with_steps_of_the_other_relation(self) -> None:
        steps, other = SampledGaussianSteps(0.1, 2.0, 50), ExchangedGaussianSteps(0.05, 1.5, 30)
        together = counted([GaussianRelease(4.0), steps, other], 1e-5)
        assert together.accountant is Accounting.LOSSES
        assert epsilon_of([GaussianRelease(4.0), steps], 1e-5) < together.epsilon
        assert together.epsilon < epsilon_of([GaussianRelease(4.0), exchanged(steps), other], 1e-5)
