"""Bits modulo 2: what they tell of empty cells, and that what is charged is the chance with which they flip."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.events import NoisyBitsRelease
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.session import RealDomain, Session

CELLS = 40_000
SESSION = Session(bytes(32), ("a",), RealDomain(CELLS, 1.0), "bits", 1, (bytes(32),))


def total(mechanism: NoisyBits, vectors: list[np.ndarray]) -> np.ndarray:
    parts = [mechanism.encode(vector, SESSION, SeededRandomness(number)) for number, vector in enumerate(vectors)]
    return np.sum(parts, axis=0) % 2


def test_what_is_charged_is_what_the_flips_of_the_honest_silos_leave() -> None:
    mechanism = NoisyBits(0.37, honest=3, cells=5)
    event = mechanism.event(SESSION.domain, honest=3)
    assert event == NoisyBitsRelease(0.37, 5)
    assert 1 - 2 * mechanism.spread(3) == pytest.approx(0.37, rel=1e-12)
    assert (1 - 2 * mechanism.spread(1)) ** 3 == pytest.approx(0.37, rel=1e-12)


def test_cells_that_nobody_set_show_the_flips_of_all_silos() -> None:
    """False alarms: 1e-6, an exact binomial test."""
    mechanism = NoisyBits(0.58, honest=2)
    ones = int(total(mechanism, [np.zeros(CELLS)] * 3).sum())
    assert stats.binomtest(ones, CELLS, mechanism.spread(3)).pvalue > 1e-6


@pytest.mark.parametrize("silos_that_have_it", [1, 2, 3])
def test_cells_that_anyone_set_are_fair_coins_however_many_did(silos_that_have_it: int) -> None:
    """False alarms: 1e-6 each, an exact binomial test."""
    vectors = [np.ones(CELLS)] * silos_that_have_it + [np.zeros(CELLS)] * (3 - silos_that_have_it)
    assert stats.binomtest(int(total(NoisyBits(0.58, honest=2), vectors).sum()), CELLS, 0.5).pvalue > 1e-6


def test_more_contributors_flip_more_and_fewer_honest_ones_must_flip_more_each() -> None:
    assert NoisyBits(0.46, honest=2).spread(2) < NoisyBits(0.46, honest=2).spread(3) < 0.5
    assert NoisyBits(0.46, honest=2).spread(1) < NoisyBits(0.46, honest=1).spread(1)


def test_it_counts_on_no_fewer_honest_silos_than_were_planned() -> None:
    with pytest.raises(DomainError, match=" 2 "):
        NoisyBits(0.46, honest=3).event(SESSION.domain, honest=2)


def test_anything_but_zero_and_one_is_refused() -> None:
    with pytest.raises(DomainError, match="0 and 1"):
        NoisyBits(0.46, honest=3).encode(np.full(CELLS, 2.0), SESSION, SeededRandomness(0))
