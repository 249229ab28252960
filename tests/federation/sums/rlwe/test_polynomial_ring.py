"""Polynomial arithmetic against schoolbook multiplication, and against SEAL's own decryption."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from tenseal import sealapi

from siloseal.federation.errors import ConfigError
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.keys import SecretShare
from siloseal.federation.sums.joint_key.moduli import PRIME_BITS, PRIMES, ring_of
from siloseal.federation.sums.joint_key.packing import crt_scale, unpack
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.sampling import expand_ternary
from siloseal.federation.sums.joint_key.wire import from_bytes
from siloseal.federation.sums.rlwe import seal_codec
from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.uniform import expand_uniform

DEGREES = list(PRIMES)

Sparse = Mapping[int, int]
"""Coefficients by exponent; the others are 0."""


def residues(ring: Ring, polynomial: Sparse) -> Residues:
    dense = np.zeros((len(ring.primes), ring.degree), dtype=np.uint64)
    for exponent, coefficient in polynomial.items():
        dense[:, exponent] = [coefficient % int(prime) for prime in ring.primes]
    return dense


def product(ring: Ring, first: Sparse, second: Sparse) -> dict[int, int]:
    """Schoolbook, with X^N = -1."""
    total = dict[int, int]()
    for exponent, coefficient in first.items():
        for other, factor in second.items():
            wraps, place = divmod(exponent + other, ring.degree)
            total[place] = total.get(place, 0) + (-1) ** wraps * coefficient * factor
    return total


def uniform(ring: Ring, count: int, *, primes: int | None = None, seed: int = 1) -> Residues:
    draw = np.random.default_rng(seed)
    return np.stack(
        [draw.integers(0, prime, (count, ring.degree), dtype=np.uint64) for prime in ring.primes[:primes]], 1
    )


def integers(primes: Residues, polynomial: Residues) -> list[int]:
    """Coefficients between 0 and the product of the primes, by the remainder theorem."""
    moduli = [int(prime) for prime in primes]
    whole = math.prod(moduli)
    parts = np.array([whole // prime * pow(whole // prime, -1, prime) for prime in moduli], dtype=object)
    return [int(number) for number in np.dot(parts, polynomial.astype(object)) % whole]


def one(ring: Ring) -> Residues:
    """The constant 1, evaluated: it is 1 everywhere."""
    return np.ones((len(ring.primes), ring.degree), dtype=np.uint64)


def unscaled(ring: Ring) -> Residues:
    return np.ones(len(ring.primes) - 1, dtype=np.uint64)


FIRST = {0: 3, 1: -1, 4000: 2**40, 8191: 7}
SECOND = {0: -5, 5: 2**33 + 1, 5000: -1, 8190: 11}
ADDED = {0: 1, 17: -4, 8191: 2**50}


@pytest.mark.parametrize("degree", DEGREES)
def test_multiply_add_is_schoolbook_multiplication_with_a_sign_at_the_wrap(degree: int) -> None:
    ring = ring_of(degree)
    first, second = ring.evaluate(np.stack([residues(ring, FIRST), residues(ring, SECOND)]))
    result = ring.multiply_add(first[None], second, residues(ring, ADDED)[None])
    expected = product(ring, FIRST, SECOND)
    for exponent, coefficient in ADDED.items():
        expected[exponent] = expected.get(exponent, 0) + coefficient
    np.testing.assert_array_equal(result, ring.evaluate(residues(ring, expected)[None]))


@pytest.mark.parametrize("degree", DEGREES)
def test_multiply_add_without_an_addend_is_the_product(degree: int) -> None:
    ring = ring_of(degree)
    first, second = ring.evaluate(np.stack([residues(ring, FIRST), residues(ring, SECOND)]))
    expected = ring.evaluate(residues(ring, product(ring, FIRST, SECOND))[None])
    np.testing.assert_array_equal(ring.multiply_add(first[None], second, None), expected)


@pytest.mark.parametrize("degree", DEGREES)
def test_evaluated_polynomials_are_their_values_at_the_odd_powers_of_a_root(degree: int) -> None:
    """X takes each of the N roots of X^N + 1 once, and X^3 + 2 is what it must be there."""
    ring = ring_of(degree)
    identity, other = ring.evaluate(np.stack([residues(ring, {1: 1}), residues(ring, {3: 1, 0: 2})]))
    for prime, roots, values in zip(ring.primes.tolist(), identity.tolist(), other.tolist(), strict=True):
        assert len(set(roots)) == degree
        assert all(pow(root, degree, prime) == prime - 1 for root in roots[:20])
        assert [(pow(root, 3, prime) + 2) % prime for root in roots] == values


@pytest.mark.parametrize("degree", DEGREES)
def test_interpolation_gives_back_what_was_evaluated_times_the_last_prime(degree: int) -> None:
    ring = ring_of(degree)
    polynomials = uniform(ring, 2)
    times = polynomials.astype(object) * ring.divisor % ring.primes.astype(object)[:, None]
    divided = ring.multiply_add(ring.evaluate(times.astype(np.uint64)), one(ring), None, divide=True)
    np.testing.assert_array_equal(ring.interpolate(divided, unscaled(ring), divided=True), polynomials[:, :-1])


@pytest.mark.parametrize("degree", DEGREES)
def test_interpolation_multiplies_each_residue_by_its_primes_scale(degree: int) -> None:
    ring = ring_of(degree)
    polynomials, scale = uniform(ring, 1, primes=-1), crt_scale(degree)
    plain, scaled = (ring.interpolate(polynomials, factor, divided=True)[0] for factor in (unscaled(ring), scale))
    expected = plain.astype(object) * scale.astype(object)[:, None] % ring.primes[:-1].astype(object)[:, None]
    np.testing.assert_array_equal(scaled, expected.astype(np.uint64))


@pytest.mark.parametrize("degree", DEGREES)
def test_division_by_the_last_prime_rounds_to_the_nearest(degree: int) -> None:
    """Over dense polynomials: every coefficient, as one integer, against Python's."""
    ring = ring_of(degree)
    first, second = ring.evaluate(np.stack([residues(ring, FIRST), residues(ring, SECOND)]))
    added = uniform(ring, 1)
    # Just below and just above a half, and the largest coefficient of all, which rounds up to 0.
    half = ring.divisor // 2
    for place, number in enumerate((half, half + 1, 5 * ring.divisor + half, 5 * ring.divisor + half + 1, -1)):
        added[0, :, 100 + place] = [number % int(prime) for prime in ring.primes]
    divided = ring.multiply_add(first[None], second, added, divide=True)
    whole = math.prod(int(prime) for prime in ring.primes)
    exact = integers(ring.primes, added[0])
    for exponent, coefficient in product(ring, FIRST, SECOND).items():
        exact[exponent] = (exact[exponent] + coefficient) % whole
    rounded = [(number + half) // ring.divisor % (whole // ring.divisor) for number in exact]
    assert rounded[100:105] == [0, 1, 5, 6, 0]
    assert integers(ring.primes[:-1], ring.interpolate(divided, unscaled(ring), divided=True)[0]) == rounded


@pytest.mark.parametrize("count", [1, 2, 8, 9, 17])
def test_any_number_of_polynomials_is_as_good_as_one_by_one(count: int) -> None:
    """SEAL takes up to eight at a time, and two at least."""
    ring = ring_of(8192)
    factors, added, by = uniform(ring, count, seed=2), uniform(ring, count, seed=3), uniform(ring, 1, seed=4)[0]
    operations = {
        "evaluate": lambda part: ring.evaluate(factors[part]),
        "multiply_add": lambda part: ring.multiply_add(factors[part], by, added[part]),
        "multiply": lambda part: ring.multiply_add(factors[part], by, None),
        "divide": lambda part: ring.multiply_add(factors[part], by, added[part], divide=True),
        "interpolate": lambda part: ring.interpolate(factors[part, :-1], crt_scale(8192), divided=True),
    }
    for name, operation in operations.items():
        one_by_one = np.concatenate([operation(slice(index, index + 1)) for index in range(count)])
        assert len(one_by_one) == count
        np.testing.assert_array_equal(operation(slice(None)), one_by_one, err_msg=name)


@pytest.mark.parametrize("divided", [False, True])
def test_addition_reduces_in_place(divided: bool) -> None:
    ring = ring_of(8192)
    primes = ring.primes[: len(ring.primes) - divided]
    total, added = uniform(ring, 2, primes=len(primes), seed=5), uniform(ring, 2, primes=len(primes), seed=6)
    for place, (first, second) in enumerate([(0, 0), (-1, -1), (-1, 1), (0, -1), (1, -2)]):  # negative: below the prime
        total[0, :, place] = [first % int(prime) for prime in primes]
        added[0, :, place] = [second % int(prime) for prime in primes]
    expected = (total.astype(object) + added.astype(object)) % primes.astype(object)[:, None]
    assert ring.add(total, added) is None
    np.testing.assert_array_equal(total, expected.astype(np.uint64))


def test_small_coefficients_become_their_residues() -> None:
    ring = ring_of(8192)
    coefficients = np.random.default_rng(1).integers(-21, 22, (3, 8192))
    expected = coefficients.astype(object)[:, None, :] % ring.primes.astype(object)[:, None]
    np.testing.assert_array_equal(ring.small(coefficients), expected.astype(np.uint64))


@pytest.mark.parametrize("degree", DEGREES)
def test_the_primes_are_different_have_60_bits_and_split_the_ring(degree: int) -> None:
    primes = [int(prime) for prime in ring_of(degree).primes]
    assert len(set(primes)) == PRIMES[degree]
    assert all(prime.bit_length() == PRIME_BITS and prime % (2 * degree) == 1 for prime in primes)
    assert all(pow(base, prime - 1, prime) == 1 for prime in primes for base in (2, 3, 5, 7))


@pytest.mark.parametrize("degree", DEGREES)
def test_the_modulus_is_within_the_limit_of_128_bit_security(degree: int) -> None:
    limit = sealapi.CoeffModulus.MaxBitCount(degree, sealapi.SEC_LEVEL_TYPE.TC128)
    assert limit == {8192: 218, 16384: 438}[degree]  # homomorphicencryption.org, 2018, table 1: ternary secret
    assert PRIMES[degree] * PRIME_BITS < ring_of(degree).modulus_bits <= limit


@pytest.mark.parametrize("degree", DEGREES)
def test_one_more_prime_is_refused(degree: int) -> None:
    with pytest.raises(ConfigError):
        Ring(degree, (PRIME_BITS,) * (PRIMES[degree] + 1), divides=True)


def seal_context(degree: int) -> sealapi.SEALContext:
    """SEAL's context, made here from the primes of the ring and a small one for key switching, which SEAL wants."""
    parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(degree)
    parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(degree, [PRIME_BITS] * PRIMES[degree] + [18]))
    return sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)


def seal_secret_key(context: sealapi.SEALContext, degree: int, secret: NDArray[np.int64]) -> sealapi.SecretKey:
    """A ternary polynomial as SEAL's secret key. Decryption leaves the row of the small prime alone."""
    ring = ring_of(degree)
    rows = np.vstack([ring.evaluate(ring.small(secret[None]))[0], np.ones((1, degree), dtype=np.uint64)])
    fields = seal_codec._PLAINTEXT.pack(parms_id(context.key_parms_id()), rows.size, 1.0)
    return seal_codec._load(sealapi.SecretKey(), context, fields, rows)


def parms_id(words: list[int]) -> bytes:
    return np.array(words, dtype="<u8").tobytes()


@pytest.mark.parametrize("degree", DEGREES)
def test_seals_own_decryptor_opens_what_we_encrypt(degree: int) -> None:
    """Under the key of one silo. SEAL's c0 + c1 s is our c0 - c1 s with the secret negated.

    c0 comes divided and c1 does not; SEAL wants both alike, so it divides c1 too. What that costs, at most N / 2, is
    far below the floor.
    """
    parameters = Parameters(1, 3 * degree - 5, degree, 30, 1, 85, keys=2)
    ring, context, randomness = ring_of(degree), seal_context(degree), SeededRandomness(8)
    seed, common = bytes(range(64)), expand_uniform(ring, b"public")
    joint_key = SecretShare(seed).public_share(parameters, common, randomness)
    values = np.random.default_rng(9).integers(0, 2**30, parameters.length)
    upload = encrypt(parameters, joint_key, common, values, randomness)
    c0, c1 = from_bytes(ring, upload.c0, divided=True), from_bytes(ring, upload.c1)
    c1 = ring.multiply_add(c1, one(ring), None, divide=True)
    level = parms_id(context.first_context_data().next_context_data().parms_id())
    decrypted = list[Residues]()
    for message in range(parameters.messages):
        group, key = divmod(message, parameters.keys)
        secret = -expand_ternary(seed, f"secret polynomial {key}".encode(), degree)
        ciphertext = seal_codec.ciphertext(context, level, np.stack([c0[message], c1[group]]), ntt=True)
        plaintext = sealapi.Plaintext()
        sealapi.Decryptor(context, seal_secret_key(context, degree, secret)).decrypt(ciphertext, plaintext)
        residues_of = [plaintext[index] for index in range(plaintext.coeff_count())]
        decrypted.append(np.array(residues_of, dtype=np.uint64).reshape(-1, degree))
    coefficients = ring.interpolate(np.stack(decrypted), crt_scale(degree), divided=True)
    opened = np.concatenate([unpack(parameters, message, 2**30 - 1) for message in coefficients])
    np.testing.assert_array_equal(opened[: parameters.length], values)


def test_products_and_what_is_added_to_them_must_be_as_many() -> None:
    ring = ring_of(8192)
    polynomials = np.ones((3, len(ring.primes), ring.degree), dtype=np.uint64)
    with pytest.raises(ValueError, match="3 products"):
        ring.multiply_add(polynomials, polynomials[0], polynomials[:2])
