"""Epsilon against recorded values, against Opacus, and what is refused."""

import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.accounting import (
    Accountant,
    Accounting,
    Counted,
    composed,
    counted,
    epsilon_of,
    renyi_epsilon_of,
)
from siloseal.federation.privacy.events import (
    BinomialRelease,
    DiscreteGaussianRelease,
    Event,
    ExchangedGaussianSteps,
    GaussianRelease,
    NoisyBitsRelease,
    PoissonBinomialL2Release,
    PoissonBinomialRelease,
    RandomBitsRelease,
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
def test_the_renyi_epsilon_equals_the_recorded_value(row: dict[str, Any]) -> None:
    epsilon = renyi_epsilon_of([sampled(row["inputs"])], row["inputs"]["delta"])
    assert epsilon == pytest.approx(row["expected"]["rdp"], rel=2e-4)


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.01, 1.1, 10_000), (256 / 60_000, 1.0, 14_063), (250 / 60_000, 1.3, 3600)]
)
def test_the_renyi_epsilon_equals_what_opacus_counts(rate: float, noise: float, steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.accountants import RDPAccountant

        accountant = RDPAccountant()
        accountant.history = [(noise, rate, steps)]
        theirs = accountant.get_epsilon(1e-5)
    assert renyi_epsilon_of([SampledGaussianSteps(rate, noise, steps)], 1e-5) == pytest.approx(theirs, rel=2e-4)


@pytest.mark.parametrize("row", rows("gaussian.analytic_epsilon"), ids=lambda row: str(row["inputs"]))
def test_one_release_costs_the_recorded_exact_epsilon_and_by_renyi_accounting_a_little_more(
    row: dict[str, Any],
) -> None:
    noise, delta, exact = row["inputs"]["sigma_over_sensitivity"], row["inputs"]["delta"], row["expected"]
    found = counted([GaussianRelease(noise)], delta)
    assert found.accountant is Accounting.GAUSSIAN
    assert found.epsilon == pytest.approx(exact, rel=1e-6)
    if noise >= 1:
        assert found.epsilon <= renyi_epsilon_of([GaussianRelease(noise)], delta) <= 1.12 * exact


def test_releases_without_sampling_cost_what_one_of_their_precisions_together_costs() -> None:
    events = [GaussianRelease(3.0), GaussianRelease(4.0), SampledGaussianSteps(1.0, 12.0, 11)]
    together = GaussianRelease((1 / 9 + 1 / 16 + 11 / 144) ** -0.5)
    assert counted(events, 1e-5) == Counted(pytest.approx(epsilon_of([together], 1e-5), rel=1e-12), Accounting.GAUSSIAN)


def test_events_of_two_kinds_cost_more_than_each_and_less_than_their_sum() -> None:
    release, steps = GaussianRelease(2.0), SampledGaussianSteps(0.01, 1.1, 1000)
    alone = [epsilon_of([event], 1e-5) for event in (release, steps)]
    both = epsilon_of([release, steps], 1e-5)
    assert max(alone) < both < sum(alone)


def test_chunks_cost_what_the_whole_costs() -> None:
    whole = epsilon_of([SampledGaussianSteps(0.05, 2.0, 1000)], 1e-5)
    assert epsilon_of([SampledGaussianSteps(0.05, 2.0, 100)] * 10, 1e-5) == whole


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


@pytest.mark.parametrize("count", [0.5, 1.5, 0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "event",
    [
        NoisyBitsRelease(0.5, 3),
        DiscreteGaussianRelease(3, 9.0, 1.0, 1.0, 3),
        BinomialRelease(1_000_000, 1.0, 1.0, 1.0, 3, 1e-6),
        PoissonBinomialRelease(3, 3, 0.1, 3),
        PoissonBinomialL2Release(3, 3, 0.1, 1.0, 3),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_counted_in_whole_numbers_has_no_fractions(event: Event, count: float) -> None:
    """A ledger that was altered by hand may say half a bit, which would cost half."""
    for name in {"honest", "trials", "coordinates", "cells"} & set(event.__dataclass_fields__):
        with pytest.raises(UncountableEvent):
            replace(event, **{name: count})  # type: ignore[arg-type]


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
    NoisyBitsRelease(0.3, 2),
    RandomBitsRelease(3.0),
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
        assert forth == back

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


@pytest.mark.parametrize(
    ("events", "accountant"),
    [
        ([], Accounting.RENYI),
        ([GaussianRelease(3.0), GaussianRelease(4.0)], Accounting.GAUSSIAN),
        ([GaussianRelease(3.0), SampledGaussianSteps(0.01, 1.1, 500)], Accounting.LOSSES),
        ([ExchangedGaussianSteps(0.01, 1.1, 500)], Accounting.LOSSES),
        ([GaussianRelease(3.0), ONE_OF_EACH[3]], Accounting.RENYI),
        (ONE_OF_EACH, Accounting.PAIRS),
        ([SampledGaussianSteps(0.017, 0.005, 1000)], Accounting.RENYI),  # around 2e7, losses would take gigabytes
    ],
    ids=["nothing", "releases", "steps", "exchanged", "grid", "binomial", "meaningless"],
)
def test_every_count_says_its_accountant(events: list[Event], accountant: Accounting) -> None:
    found = counted(events, 1e-5)
    assert found.accountant is accountant
    assert found.epsilon == epsilon_of(events, 1e-5)
    exact = accountant in (Accounting.GAUSSIAN, Accounting.LOSSES)
    assert (found.epsilon < renyi_epsilon_of(events, 1e-5)) == exact


def test_with_one_event_more_an_accountant_is_another_one() -> None:
    few = Accountant([GaussianRelease(3.0)])
    more = few.plus(SampledGaussianSteps(0.01, 1.1, 500))
    assert few.epsilon(1e-5) == epsilon_of([GaussianRelease(3.0)], 1e-5)
    assert more.epsilon(1e-5) == epsilon_of([SampledGaussianSteps(0.01, 1.1, 500), GaussianRelease(3.0)], 1e-5)


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
        lambda: NoisyBitsRelease(0.0, 1),
        lambda: NoisyBitsRelease(1.0, 1),
        lambda: NoisyBitsRelease(math.nan, 1),
        lambda: NoisyBitsRelease(0.5, 0),
        lambda: RandomBitsRelease(0.0),
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
    steps = ExchangedGaussianSteps(0.1, 1.0, 5)
    assert exchanged(SampledGaussianSteps(0.1, 1.0, 5)) == exchanged(steps) == steps
    with pytest.raises(UncountableEvent):
        exchanged(exchanged(by_norm))


@pytest.mark.parametrize("event", [NoisyBitsRelease(0.3, 2), RandomBitsRelease(3.0)], ids=str)
def test_exchanged_bits_go_at_one_place_and_come_at_another(event: Event) -> None:
    assert renyi_epsilon_of([exchanged(event)], 1e-5) == pytest.approx(renyi_epsilon_of([event] * 2, 1e-5), rel=1e-12)


def test_an_exchange_of_every_unit_without_sampling_is_a_release_of_half_the_noise() -> None:
    steps = [ExchangedGaussianSteps(1.0, 8.0, 16)]
    assert epsilon_of(steps, 1e-5) == pytest.approx(epsilon_of([GaussianRelease(1.0)], 1e-5), rel=1e-12)


@pytest.mark.parametrize("event", [SampledGaussianSteps(0.1, 1.0, 60), SampledGaussianSteps(0.3, 3.0, 200)], ids=str)
def test_the_curve_of_an_exchange_is_above_its_losses_and_both_above_the_coming_of_a_unit(
    event: SampledGaussianSteps,
) -> None:
    by_losses, by_curve = (count([exchanged(event)], 1e-5) for count in (epsilon_of, renyi_epsilon_of))
    assert epsilon_of([event], 1e-5) < by_losses < by_curve < 6 * by_losses


def test_an_exchange_is_counted_beside_events_that_have_a_curve_only() -> None:
    mixed = [ExchangedGaussianSteps(0.01, 2.0, 500), ONE_OF_EACH[3]]
    found = counted(mixed, 1e-5)
    assert found.accountant is Accounting.RENYI
    assert max(renyi_epsilon_of([event], 1e-5) for event in mixed) < found.epsilon < math.inf
