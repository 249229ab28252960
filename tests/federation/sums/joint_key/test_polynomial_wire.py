"""Polynomials as bytes: what comes back, and what is refused."""

import numpy as np
import pytest

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.joint_key.moduli import PRIMES, ring_of
from siloseal.federation.sums.joint_key.wire import (
    add_bytes,
    from_bytes,
    polynomial_bytes,
    require_polynomials,
    to_bytes,
)
from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.seal_codec import Residues


def uniform(ring: Ring, count: int, *, divided: bool, seed: int = 1) -> Residues:
    draw = np.random.default_rng(seed)
    primes = ring.primes[: len(ring.primes) - divided]
    polynomials = [draw.integers(0, prime, (count, ring.degree), dtype=np.uint64) for prime in primes]
    return np.stack(polynomials, axis=1)


@pytest.mark.parametrize("degree", list(PRIMES))
@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_polynomials_survive_the_wire(degree: int, divided: bool, count: int) -> None:
    ring = ring_of(degree)
    polynomials = uniform(ring, count, divided=divided)
    polynomials[0, :, 0], polynomials[0, :, 1] = 0, ring.primes[: len(ring.primes) - divided] - np.uint64(1)
    np.testing.assert_array_equal(from_bytes(ring, to_bytes(polynomials), divided=divided), polynomials)


def test_a_pair_of_residues_is_one_little_endian_number_of_15_bytes() -> None:
    first, second = 0x0FEDCBA987654321, 0x0123456789ABCDEF
    assert to_bytes(np.array([first, second], dtype=np.uint64)) == (first | second << 60).to_bytes(15, "little")


@pytest.mark.parametrize("degree", list(PRIMES))
@pytest.mark.parametrize("divided", [False, True])
def test_a_residue_takes_seven_and_a_half_bytes(degree: int, divided: bool) -> None:
    ring = ring_of(degree)
    primes = len(ring.primes) - divided
    assert polynomial_bytes(ring, divided=divided) == 7.5 * primes * degree
    assert len(to_bytes(uniform(ring, 2, divided=divided))) == 2 * polynomial_bytes(ring, divided=divided)


@pytest.mark.parametrize("prime", [0, 1, 2])
@pytest.mark.parametrize("above", [0, 1, "all ones"])
@pytest.mark.parametrize("place", [0, 8191])
def test_a_residue_at_or_above_its_prime_is_refused(prime: int, above: int | str, place: int) -> None:
    ring = ring_of(8192)
    polynomials = uniform(ring, 2, divided=False)
    largest = int(ring.primes[prime])
    polynomials[1, prime, place] = largest - 1
    from_bytes(ring, to_bytes(polynomials))
    polynomials[1, prime, place] = 2**60 - 1 if isinstance(above, str) else largest + above
    with pytest.raises(MessageError):
        from_bytes(ring, to_bytes(polynomials))


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("difference", [-1, 1, -15, 15, "one fewer", "one more", "empty"])
def test_bytes_of_another_length_are_refused(divided: bool, difference: int | str) -> None:
    ring = ring_of(8192)
    one = polynomial_bytes(ring, divided=divided)
    lengths = {"one fewer": one, "one more": 3 * one, "empty": 0}
    length = lengths[difference] if isinstance(difference, str) else 2 * one + difference
    with pytest.raises(MessageError):
        require_polynomials(ring, bytes(length), 2, divided=divided)


@pytest.mark.parametrize("divided", [False, True])
def test_bytes_of_the_right_length_pass_as_they_are(divided: bool) -> None:
    ring = ring_of(8192)
    data = to_bytes(uniform(ring, 2, divided=divided))
    assert require_polynomials(ring, data, 2, divided=divided) is data


@pytest.mark.parametrize("divided", [False, True])
def test_adding_bytes_is_adding_polynomials(divided: bool) -> None:
    ring = ring_of(8192)
    total, added = (uniform(ring, 3, divided=divided, seed=seed) for seed in (2, 3))
    expected = total.copy()
    ring.add(expected, added)
    add_bytes(ring, total, to_bytes(added), divided=divided)
    np.testing.assert_array_equal(total, expected)


def test_adding_bytes_checks_every_residue() -> None:
    ring = ring_of(8192)
    total, added = (uniform(ring, 2, divided=False, seed=seed) for seed in (2, 3))
    added[1, 2, 8191] = ring.primes[2]
    with pytest.raises(MessageError):
        add_bytes(ring, total, to_bytes(added))
