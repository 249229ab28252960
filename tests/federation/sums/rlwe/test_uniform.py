"""Public polynomials: below their primes, uniform, and the same for everyone who has the seed."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.sums.ckks.parameters import derive
from siloseal.federation.sums.rlwe.polynomial_ring import ring_of
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.session import RealDomain

WIDE = (60, 60, 60)
RECORDED_UNIFORM = [0x76C447855BC21A4, 0xEA0F6703173283F, 0xEE8EEAB06E9C889]
RECORDED_UNIFORM_DIGEST = "2f61ed0ad23983b0dd238531efa050c80ff20cfa2b8ed21e47bdff5ed9f2c1ac"


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
