"""What the scheme draws: the public polynomials, and short entries for keys and errors."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.ckks.parameters import derive
from siloseal.federation.sums.ckks.sampling import draw_short, expand_uniform
from siloseal.federation.sums.ckks.security import VARIANCE
from siloseal.federation.sums.seal.ring import ring_of
from siloseal.federation.sums.session import RealDomain

WIDE = (60, 60, 60)
RECORDED_UNIFORM = [0x76C447855BC21A4, 0xEA0F6703173283F, 0xEE8EEAB06E9C889]
RECORDED_UNIFORM_DIGEST = "2f61ed0ad23983b0dd238531efa050c80ff20cfa2b8ed21e47bdff5ed9f2c1ac"


def test_short_entries_have_the_mean_and_variance_that_security_counts_on() -> None:
    """Of 400,000: the mean within 5 deviations of 0, the variance within 5 of its own; false alarms 1e-6."""
    drawn = draw_short(SeededRandomness(6), 400_000)
    assert abs(drawn.mean()) < 5 * (VARIANCE / drawn.size) ** 0.5
    assert abs(drawn.var() / VARIANCE - 1) < 5 * (2 / drawn.size) ** 0.5


def test_short_entries_fit_the_discrete_gaussian() -> None:
    """Chi-square over -20 .. 20; a false alarm has probability 5e-7."""
    drawn, values = draw_short(SeededRandomness(7), 200_000), np.arange(-20, 21)
    weights = np.exp(-(np.arange(-100, 101) ** 2) / (2 * VARIANCE))
    expected = (weights / weights.sum())[80:121] * drawn.size
    counted = np.array([(drawn == value).sum() for value in values], dtype=np.float64)
    expected *= counted.sum() / expected.sum()
    assert stats.chisquare(counted, expected).pvalue > 5e-7


def test_two_draws_of_the_operating_system_differ() -> None:
    randomness = SecureRandomness()
    assert not np.array_equal(draw_short(randomness, 200), draw_short(randomness, 200))


@pytest.mark.parametrize("length", [5_000, 50_000, 1_000_000])
def test_the_public_polynomial_is_below_each_prime_of_a_derived_ring(length: int) -> None:
    ring = derive(RealDomain(length, 1.0), 10, precision_bits=16).ring
    polynomial = expand_uniform(ring, b"session")
    assert polynomial.shape == (len(ring.primes), ring.degree)
    assert (polynomial < ring.primes[:, None]).all()
    middles = polynomial.mean(axis=1) / ring.primes
    assert np.abs(middles - 0.5).max() < 5.5 / (12 * ring.degree) ** 0.5  # 1e-7 for seven primes


@pytest.mark.parametrize("degree", [8192])
class TestUniform:
    def test_residues_are_below_their_primes(self, degree: int) -> None:
        ring = ring_of(degree, WIDE)
        polynomial = expand_uniform(ring, b"session")
        assert polynomial.shape == (len(ring.primes), degree)
        assert (polynomial < ring.primes[:, None]).all()

    def test_the_topmost_and_the_lowest_byte_are_uniform(self, degree: int) -> None:
        """The primes differ from 2^60 by less than 2^-40 of it."""
        polynomial = expand_uniform(ring_of(degree, WIDE), b"session")
        for digits in (polynomial >> np.uint64(52), polynomial & np.uint64(255)):
            assert stats.chisquare(np.bincount(digits.reshape(-1).astype(np.int64), minlength=256)).pvalue > 5e-7

    def test_a_seed_always_stands_for_the_same_polynomial(self, degree: int) -> None:
        ring = ring_of(degree, WIDE)
        np.testing.assert_array_equal(expand_uniform(ring, b"session"), expand_uniform(ring, b"session"))

    def test_other_seeds_and_other_primes_have_other_residues(self, degree: int) -> None:
        """Two residues coincide with probability 2^-60."""
        ring = ring_of(degree, WIDE)
        polynomial = expand_uniform(ring, b"session")
        assert not (polynomial == expand_uniform(ring, b"sessiom")).any()
        assert not (polynomial[0] == polynomial[1]).any()


def test_a_word_at_or_above_the_prime_is_rejected_and_not_reduced() -> None:
    """With the true primes that happens once in 2^37, so here is a modulus that refuses a quarter of all words."""
    modulus = 3 * 2**58
    stream = hashlib.shake_256(b"session" + bytes([0])).digest(8 * 164)
    words = [int.from_bytes(stream[8 * index : 8 * index + 8], "little") % 2**60 for index in range(164)]
    ring = SimpleNamespace(primes=np.array([modulus], dtype=np.uint64), prime_bits=(60,), degree=100)
    assert expand_uniform(ring, b"session")[0].tolist() == [word for word in words if word < modulus][:100]  # type: ignore[arg-type]


def test_the_recorded_public_polynomial_of_a_seed_has_not_changed() -> None:
    """Silos of different versions in one session must agree. Recorded from SHAKE-256 on first use."""
    polynomial = expand_uniform(ring_of(8192, WIDE), bytes(range(32)))
    assert polynomial[:, 0].tolist() == RECORDED_UNIFORM
    assert hashlib.sha256(polynomial.astype("<u8").tobytes()).hexdigest() == RECORDED_UNIFORM_DIGEST
