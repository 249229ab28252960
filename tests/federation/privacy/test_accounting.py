"""Epsilon against recorded values, against Opacus, and what is refused."""

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from siloseal.federation.errors import ConfigError, UncountableEvent
from siloseal.federation.privacy.accounting import (
    PLD,
    RENYI,
    Accountant,
    composed,
    epsilon_of,
    smallest_noise,
    tightest_epsilon,
)
from siloseal.federation.privacy.events import (
    BinomialRelease,
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    PoissonBinomialL2Release,
    PoissonBinomialRelease,
    SampledGaussianSteps,
    SkellamRelease,
    exchanged,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())


def rows(name: str) -> list[dict[str, Any]]:
    return [row for row in VECTORS if row["name"] == name]


def sampled(inputs: dict[str, Any]) -> SampledGaussianSteps:
    return SampledGaussianSteps(float(Fraction(inputs["q"])), inputs["sigma"], inputs["steps"])


@pytest.mark.parametrize("row", rows("gaussian_poisson_sampled.epsilon"), ids=lambda row: str(row["inputs"]))
def test_epsilon_equals_the_recorded_value(row: dict[str, Any]) -> None:
    epsilon = epsilon_of([sampled(row["inputs"])], row["inputs"]["delta"])
    assert epsilon == pytest.approx(row["expected"]["rdp"], rel=2e-4)


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.01, 1.1, 10_000), (256 / 60_000, 1.0, 14_063), (250 / 60_000, 1.3, 3600)]
)
def test_epsilon_equals_what_opacus_counts(rate: float, noise: float, steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.accountants import RDPAccountant

        accountant = RDPAccountant()
        accountant.history = [(noise, rate, steps)]
        theirs = accountant.get_epsilon(1e-5)
    assert epsilon_of([SampledGaussianSteps(rate, noise, steps)], 1e-5) == pytest.approx(theirs, rel=2e-4)


def test_one_release_costs_at_least_the_exact_gaussian_epsilon() -> None:
    """Renyi accounting is an upper bound, and not a slack one."""
    for row in rows("gaussian.analytic_epsilon"):
        noise, exact = row["inputs"]["sigma_over_sensitivity"], row["expected"]
        if noise >= 1:
            assert exact <= epsilon_of([GaussianRelease(noise)], row["inputs"]["delta"]) <= 1.12 * exact


def test_events_of_two_kinds_cost_more_than_each_and_less_than_their_sum() -> None:
    release, steps = GaussianRelease(2.0), SampledGaussianSteps(0.01, 1.1, 1000)
    alone = [epsilon_of([event], 1e-5) for event in (release, steps)]
    both = epsilon_of([release, steps], 1e-5)
    assert max(alone) < both < sum(alone)


def test_chunks_cost_what_the_whole_costs() -> None:
    whole = epsilon_of([SampledGaussianSteps(0.05, 2.0, 1000)], 1e-5)
    assert epsilon_of([SampledGaussianSteps(0.05, 2.0, 100)] * 10, 1e-5) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("row", rows("gaussian.calibrated_noise_multiplier"), ids=lambda row: str(row["inputs"]))
def test_the_smallest_noise_is_the_recorded_one_rounded_up(row: dict[str, Any]) -> None:
    inputs = row["inputs"]
    events_at = lambda noise: [SampledGaussianSteps(inputs["q"], noise, inputs["steps"])]  # noqa: E731
    noise = smallest_noise(events_at, epsilon=inputs["epsilon"], delta=inputs["delta"])
    assert row["expected"]["rdp"] * (1 - 1e-4) <= noise <= 1.002 * row["expected"]["rdp"]
    assert epsilon_of(events_at(noise), inputs["delta"]) <= inputs["epsilon"]


def test_an_epsilon_that_no_noise_reaches_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="epsilon 1 at delta 1e-5"):
        smallest_noise(lambda z: [GaussianRelease(0.5), GaussianRelease(z)], epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    "event",
    [
        lambda: GaussianRelease(0.0),
        lambda: SampledGaussianSteps(0.1, 0.0, 5),
        lambda: GaussianRelease(-1.0),
        lambda: GaussianRelease(float("nan")),
        lambda: GaussianRelease(float("inf")),
        lambda: SampledGaussianSteps(0.1, 1.0, 2.5),  # type: ignore[arg-type]
    ],
)
def test_an_event_without_noise_cannot_be_counted(event) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UncountableEvent):
        event()


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 5), (1.1, 5), (0.1, 0), (0.1, -3)])
def test_steps_that_are_no_steps_cannot_be_counted(rate: float, steps: int) -> None:
    with pytest.raises(UncountableEvent):
        SampledGaussianSteps(rate, 1.0, steps)


def test_nothing_costs_nothing() -> None:
    assert epsilon_of([], 1e-5) == 0


ONE_OF_EACH: list[Event] = [
    GaussianRelease(3.0),
    SampledGaussianSteps(0.01, 1.1, 500),
    DiscreteGaussianRelease(10, 90.0, 10.0, 60.0, 64),
    SkellamRelease(900.0, 10.0, 60.0),
    PoissonBinomialRelease(20, 4, 0.05, 16),
    PoissonBinomialL2Release(20, 4, 0.05, 8.0, 400),
    BinomialRelease(400_000, 10.0, 60.0, 10.0, 64, 1e-6),
]


class TestMixedEvents:
    @pytest.mark.parametrize("event", ONE_OF_EACH, ids=str)
    def test_each_adds_to_the_cost_of_the_others(self, event: Event) -> None:
        others = [other for other in ONE_OF_EACH if other != event]
        alone, rest, together = (epsilon_of(events, 1e-5) for events in ([event], others, ONE_OF_EACH))
        assert 0 < alone < math.inf
        assert max(alone, rest) < together

    def test_together_they_cost_less_than_one_by_one_at_the_same_share_of_delta(self) -> None:
        """Basic composition: epsilons and deltas add."""
        share = 1e-5 / len(ONE_OF_EACH)
        assert epsilon_of(ONE_OF_EACH, 1e-5) < sum(epsilon_of([event], share) for event in ONE_OF_EACH)

    def test_the_order_of_events_changes_nothing(self) -> None:
        forth, back = (epsilon_of(events, 1e-5) for events in (ONE_OF_EACH * 3, (ONE_OF_EACH * 3)[::-1]))
        assert forth == pytest.approx(back, rel=1e-12)

    @pytest.mark.parametrize("event", ONE_OF_EACH, ids=str)
    def test_equal_events_at_once_cost_what_they_cost_one_by_one(self, event: Event) -> None:
        at_once, one_by_one = Accountant(), Accountant()
        at_once.add(event, 5)
        for _ in range(5):
            one_by_one.add(event)
        assert at_once.epsilon(1e-4) == pytest.approx(one_by_one.epsilon(1e-4), rel=1e-12)
        assert epsilon_of([event] * 5, 1e-4) == pytest.approx(one_by_one.epsilon(1e-4), rel=1e-12)

    def test_deltas_of_their_own_that_use_up_delta_leave_no_epsilon(self) -> None:
        release = BinomialRelease(400_000, 10.0, 60.0, 10.0, 64, 1e-6)
        assert epsilon_of([release] * 9, 1e-5) < math.inf
        assert epsilon_of([release] * 11, 1e-5) == math.inf
        assert epsilon_of([release], 1e-6) == math.inf

    def test_many_small_binomial_releases_cost_less_than_their_sum(self) -> None:
        release = BinomialRelease(100_000_000, 10.0, 60.0, 10.0, 64, 1e-9)
        one = epsilon_of([release], 1e-5)
        assert epsilon_of([release] * 1000, 1e-5) < 400 * one
        assert epsilon_of([release] * 2, 1e-5) == pytest.approx(2 * one, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 1), (0.1, 50), (0.5, 10), (1.0, 4), (2.0, 30)])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_composition_is_never_below_the_exact_one_of_randomised_response(
    epsilon: float, times: int, delta: float
) -> None:
    """The worst mechanism of its epsilon: how many of the answers are true is all that anyone learns."""
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    one, other = (stats.binom.pmf(np.arange(times + 1), times, chance) for chance in (true, 1 - true))

    def excess(total: float) -> float:
        return float(np.maximum(one - math.exp(total) * other, 0).sum()) - delta

    exact = optimize.brentq(excess, 0, epsilon * times) if excess(0) > 0 else 0.0
    assert exact <= composed([epsilon] * times, delta)


PLD_ROWS = [
    pytest.param(row, marks=pytest.mark.slow if row["expected"]["pld"] > 100 else (), id=str(row["inputs"]))
    for row in rows("gaussian_poisson_sampled.epsilon")
]


@pytest.mark.parametrize("row", PLD_ROWS)
def test_the_tightest_epsilon_equals_the_recorded_one(row: dict[str, Any]) -> None:
    epsilon, how = tightest_epsilon([sampled(row["inputs"])], row["inputs"]["delta"])
    assert epsilon == pytest.approx(row["expected"]["pld"], rel=row["tolerance"]["rel"])
    assert how == PLD
    assert epsilon < epsilon_of([sampled(row["inputs"])], row["inputs"]["delta"])


def test_the_tightest_epsilon_is_not_below_the_exact_one() -> None:
    for row in rows("gaussian.analytic_epsilon"):
        noise, exact = row["inputs"]["sigma_over_sensitivity"], row["expected"]
        if noise >= 1:
            tightest, _ = tightest_epsilon([GaussianRelease(noise)], row["inputs"]["delta"])
            assert exact * (1 - 1e-9) <= tightest <= 1.001 * exact


def test_the_tightest_epsilon_of_releases_and_steps_composes_both() -> None:
    release, steps = GaussianRelease(2.0), SampledGaussianSteps(0.01, 1.1, 1000)
    both, how = tightest_epsilon([release, steps, release], 1e-5)
    twice = tightest_epsilon([GaussianRelease(2.0 / math.sqrt(2)), steps], 1e-5)[0]
    assert how == PLD
    assert both == pytest.approx(twice, rel=1e-3)  # two Gaussians are one of half the variance
    assert tightest_epsilon([release, steps], 1e-5)[0] < both < epsilon_of([release, steps, release], 1e-5)


def test_events_without_a_loss_distribution_are_counted_by_renyi_curves() -> None:
    for events in ([ONE_OF_EACH[2]], [GaussianRelease(3.0), ONE_OF_EACH[3]], []):
        assert tightest_epsilon(events, 1e-5) == (epsilon_of(events, 1e-5), RENYI)


@pytest.mark.parametrize(
    "event",
    [
        lambda: DiscreteGaussianRelease(0, 1.0, 1.0, 1.0, 1),
        lambda: DiscreteGaussianRelease(3, 0.0, 1.0, 1.0, 1),
        lambda: DiscreteGaussianRelease(3, 0.499, 1.0, 1.0, 1),
        lambda: DiscreteGaussianRelease(3, math.nan, 1.0, 1.0, 1),
        lambda: DiscreteGaussianRelease(3, 1.0, math.inf, 1.0, 1),
        lambda: DiscreteGaussianRelease(3, 1.0, 1.0, 1.0, 0),
        lambda: DiscreteGaussianRelease(3, 1.0, 1.0, 1.0, 1, sampling_rate=0.5),
        lambda: SkellamRelease(0.0, 1.0, 1.0),
        lambda: SkellamRelease(math.inf, 1.0, 1.0),
        lambda: SkellamRelease(1.0, 0.0, 1.0),
        lambda: SkellamRelease(1.0, 1.0, math.nan),
        lambda: SkellamRelease(1.0, 1.0, 1.0, sampling_rate=0.1),
        lambda: SkellamRelease(1.0, 1.0, 1.0, sampling_rate=math.nan),
        lambda: BinomialRelease(1000, 1.0, 1.0, 1.0, 1, 1e-6),  # 250 is less than 23 ln(1e7)
        lambda: BinomialRelease(2000, 300.0, 300.0, 300.0, 1, 1e-5),  # 500 is less than twice 300
        lambda: BinomialRelease(0, 1.0, 1.0, 1.0, 1, 1e-6),
        lambda: BinomialRelease(10_000, 1.0, 1.0, 1.0, 1, 0.0),
        lambda: BinomialRelease(10_000, 1.0, 1.0, 1.0, 1, 1.0),
        lambda: BinomialRelease(10_000, 1.0, 1.0, 1.0, 1, math.nan),
        lambda: PoissonBinomialRelease(0, 1, 0.1, 1),
        lambda: PoissonBinomialRelease(1, 0, 0.1, 1),
        lambda: PoissonBinomialRelease(1, 1, 0.0, 1),
        lambda: PoissonBinomialRelease(1, 1, 0.26, 1),
        lambda: PoissonBinomialRelease(1, 1, math.nan, 1),
        lambda: PoissonBinomialRelease(1, 1, 0.1, 0),
        lambda: PoissonBinomialL2Release(0, 1, 0.1, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 0, 0.1, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 257, 0.1, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 1, 0.0, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 1, 0.26, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 1, math.nan, 1.0, 1),
        lambda: PoissonBinomialL2Release(1, 1, 0.1, 0.0, 1),
        lambda: PoissonBinomialL2Release(1, 1, 0.1, math.inf, 1),
        lambda: PoissonBinomialL2Release(1, 1, 0.1, 1.0, 0),
        lambda: PoissonBinomialL2Release(1, 1, 0.1, 1.0, 1, moves=3),
    ],
)
def test_a_release_that_no_theorem_covers_cannot_be_counted(event) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UncountableEvent):
        event()


def test_every_coordinate_of_a_poisson_binomial_vector_is_paid_for() -> None:
    """Coordinates are independent, so their divergences add up, as those of as many releases of one would."""
    one, many = PoissonBinomialRelease(20, 4, 0.01, 1), PoissonBinomialRelease(20, 4, 0.01, 512)
    assert epsilon_of([many], 1e-5) == pytest.approx(epsilon_of([one] * 512, 1e-5), rel=1e-12)
    assert epsilon_of([many], 1e-5) > 5 * epsilon_of([one], 1e-5)


def test_an_exchanged_unit_moves_twice_as_far() -> None:
    assert exchanged(GaussianRelease(3.0)) == GaussianRelease(1.5)
    assert exchanged(SkellamRelease(9.0, 2.0, 3.0)) == SkellamRelease(9.0, 4.0, 6.0)
    assert exchanged(DiscreteGaussianRelease(2, 9.0, 2.0, 3.0, 7)) == DiscreteGaussianRelease(2, 9.0, 4.0, 6.0, 7)
    assert exchanged(BinomialRelease(10_000, 1, 2, 3, 1, 1e-5)) == BinomialRelease(10_000, 2, 4, 6, 1, 1e-5)
    assert exchanged(PoissonBinomialRelease(3, 4, 0.1, 5)) == PoissonBinomialRelease(3, 4, 0.1, 5)
    by_norm = PoissonBinomialL2Release(3, 4, 0.1, 2.0, 5)
    assert exchanged(by_norm) == PoissonBinomialL2Release(3, 4, 0.1, 2.0, 5, moves=2)
    for event in (SampledGaussianSteps(0.1, 1.0, 5), exchanged(by_norm)):
        with pytest.raises(UncountableEvent):
            exchanged(event)


def test_an_epsilon_that_means_nothing_is_not_sharpened() -> None:
    """A privacy loss distribution around 2e7 takes gigabytes."""
    events = [SampledGaussianSteps(0.017, 0.005, 1000)]
    epsilon, how = tightest_epsilon(events, 1e-5)
    assert epsilon == epsilon_of(events, 1e-5) > 1e7
    assert how == RENYI
