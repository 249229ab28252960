"""Counts under shared integer noise: exact but for the noise, and never wrapped around."""

import math

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.privacy.mechanisms.integer_noise import DiscreteGaussian, IntegerNoise, Move, Skellam
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain

from .without_a_sum import session

DOMAIN = RealDomain(20_000, 100.0)
ONE_CELL = Move(1.0, 1.0, 1.0, DOMAIN.length)
NOISES: list[IntegerNoise] = [Skellam(7.5), DiscreteGaussian(7.5)]


def total(mechanism: NoisyCounts, vectors: list[np.ndarray]) -> np.ndarray:
    agreed = session(len(vectors), vectors[0].size, bound=DOMAIN.bound)
    parts = [mechanism.encode(vector, agreed, SeededRandomness(number)) for number, vector in enumerate(vectors)]
    summed = np.sum(parts, axis=0) % mechanism.domain(agreed.domain, len(vectors)).modulus
    return mechanism.decode(Sum(summed, agreed.roster, 0.0), agreed, SeededRandomness(0)).total


@pytest.mark.parametrize("noise", NOISES, ids=["skellam", "ddg"])
def test_a_total_is_off_by_the_noise_of_all_silos_and_nothing_else(noise: IntegerNoise) -> None:
    """False alarms: 1e-6, a chi-square test of the variance; 1e-6, a test of the mean."""
    mechanism = NoisyCounts(ONE_CELL, noise)
    off = total(mechanism, [np.full(DOMAIN.length, count) for count in (100.0, -100.0, 3.0)]) - 3
    assert np.array_equal(off, np.rint(off))
    deviation = mechanism.spread(3)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], DOMAIN.length)
    assert low < float(np.sum(off**2)) / deviation**2 < high
    assert abs(float(off.mean())) < 4.9 * deviation / math.sqrt(DOMAIN.length)


@pytest.mark.parametrize("count", [100.0, -100.0])
def test_the_largest_totals_do_not_wrap_around(count: float) -> None:
    found = total(NoisyCounts(ONE_CELL, Skellam(0.5)), [np.full(5000, count)] * 8)
    assert np.abs(found - 8 * count).max() < 12 * math.sqrt(4)


def test_the_modulus_holds_twelve_deviations_beyond_the_largest_total() -> None:
    mechanism = NoisyCounts(ONE_CELL, Skellam(100.0))
    assert mechanism.domain(DOMAIN, 4).modulus / 2 >= 400 + 12 * 20
    assert mechanism.domain(DOMAIN, 4).modulus / 8 < 400 + 12 * 20


def test_what_it_costs_follows_from_the_move_and_the_honest_silos() -> None:
    move = Move(2.0, 3.0, 1.0, DOMAIN.length)
    assert NoisyCounts(move, Skellam(7.0)).event(DOMAIN, 3) == SkellamRelease(21.0, 2.0, 3.0)
    assert NoisyCounts(move, DiscreteGaussian(7.0)).event(DOMAIN, 3) == DiscreteGaussianRelease(
        3, 7.0, 2.0, 3.0, DOMAIN.length
    )


def test_more_counts_than_the_noise_was_planned_for_cost_something_else() -> None:
    with pytest.raises(DomainError, match=r"^20001 .* 20000$"):
        NoisyCounts(ONE_CELL, Skellam(7.0)).event(RealDomain(20_001, 1.0), 3)


def test_fractions_are_not_counts() -> None:
    with pytest.raises(DomainError, match="whole numbers"):
        NoisyCounts(ONE_CELL, Skellam(7.0)).encode(
            np.full(DOMAIN.length, 0.5), session(2, DOMAIN.length, bound=DOMAIN.bound), SeededRandomness(0)
        )


def test_totals_that_floats_cannot_hold_are_refused() -> None:
    with pytest.raises(DomainError, match=r"52 .*largest_silo"):
        NoisySum(NoisyCounts(ONE_CELL, Skellam(7.0)), PlainSum()).admit(RealDomain(5, 2.0**51), 4)


def test_its_parameters_are_part_of_what_the_silos_agree_on() -> None:
    names = {NoisyCounts(move, noise).name for move in (ONE_CELL, Move(2.0, 2.0, 1.0, 9)) for noise in NOISES}
    assert len(names) == 4
