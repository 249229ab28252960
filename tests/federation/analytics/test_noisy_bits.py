"""Bits modulo 2: what they tell of empty cells, and that what is charged for them is no less than they tell."""

import math

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.accounting import ORDERS
from siloseal.federation.privacy.events import RandomBitsRelease
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.session import RealDomain, Session

CELLS = 40_000
SESSION = Session(bytes(32), ("a",), RealDomain(CELLS, 1.0), "bits", 1, (bytes(32),))


def total(mechanism: NoisyBits, vectors: list[np.ndarray]) -> np.ndarray:
    parts = [mechanism.encode(vector, SESSION, SeededRandomness(number)) for number, vector in enumerate(vectors)]
    return np.sum(parts, axis=0) % 2


def renyi(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return math.log(float(np.sum(p**alpha * q ** (1 - alpha)))) / (alpha - 1)


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 3.7, 14.0, 200.0])
def test_a_gaussian_release_tells_at_least_as_much_at_every_order(multiplier: float) -> None:
    flip = NoisyBits(multiplier, honest=3).spread(3)
    empty, fair = np.array([1 - flip, flip]), np.array([0.5, 0.5])
    for alpha in (order for order in ORDERS if order <= 64):  # beyond, floats lose what is compared
        bound = alpha / (2 * multiplier**2) * (1 + 1e-9) + 1e-12
        assert renyi(fair, empty, alpha) <= bound
        assert renyi(empty, fair, alpha) <= bound


def test_the_bound_is_no_waste() -> None:
    """At small orders the two curves meet."""
    flip = NoisyBits(5.0, honest=1).spread(1)
    assert renyi(np.array([0.5, 0.5]), np.array([1 - flip, flip]), 1.1) > 0.95 * 1.1 / (2 * 25)


def test_cells_that_nobody_set_show_the_flips_of_all_silos() -> None:
    """False alarms: 1e-6, an exact binomial test."""
    mechanism = NoisyBits(1.5, honest=2)
    ones = int(total(mechanism, [np.zeros(CELLS)] * 3).sum())
    assert stats.binomtest(ones, CELLS, mechanism.spread(3)).pvalue > 1e-6


@pytest.mark.parametrize("silos_that_have_it", [1, 2, 3])
def test_cells_that_anyone_set_are_fair_coins_however_many_did(silos_that_have_it: int) -> None:
    """False alarms: 1e-6 each, an exact binomial test."""
    vectors = [np.ones(CELLS)] * silos_that_have_it + [np.zeros(CELLS)] * (3 - silos_that_have_it)
    assert stats.binomtest(int(total(NoisyBits(1.5, honest=2), vectors).sum()), CELLS, 0.5).pvalue > 1e-6


def test_more_contributors_flip_more_and_fewer_honest_ones_must_flip_more_each() -> None:
    assert NoisyBits(2.0, honest=2).spread(2) < NoisyBits(2.0, honest=2).spread(3) < 0.5
    assert NoisyBits(2.0, honest=2).spread(1) < NoisyBits(2.0, honest=1).spread(1)


def test_it_counts_on_no_fewer_honest_silos_than_were_planned() -> None:
    assert NoisyBits(2.0, honest=3).event(SESSION.domain, honest=3) == RandomBitsRelease(2.0)
    with pytest.raises(DomainError, match=" 2 "):
        NoisyBits(2.0, honest=3).event(SESSION.domain, honest=2)


def test_bits_flip_however_large_epsilon_is() -> None:
    assert NoisyBits(0.01, honest=3).spread(1) > 1e-8


def test_anything_but_zero_and_one_is_refused() -> None:
    with pytest.raises(DomainError, match="0 and 1"):
        NoisyBits(2.0, honest=3).encode(np.full(CELLS, 2.0), SESSION, SeededRandomness(0))
