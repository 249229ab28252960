"""Values into coefficients and back, against Python's own integers; and the flooding."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.joint_key.moduli import PRIME_BITS, PRIMES, ring_of
from siloseal.federation.sums.joint_key.packing import crt_scale, draw_flooding, pack, unpack
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.wide import residues_of

DEGREES = list(PRIMES)
SILOS = 3


def sizes(degree: int, width: int, *, flooding_bits: int = 90) -> Parameters:
    """One message, full to the last bit that fits."""
    floor_bits = Parameters(SILOS, 1, degree, width, 1, flooding_bits, keys=1).floor_bits
    values = (PRIME_BITS * (PRIMES[degree] - 1) - 1 - floor_bits) // width
    parameters = Parameters(SILOS, degree * values, degree, width, values, flooding_bits, keys=1)
    assert parameters.fits
    return parameters


def largest_of_one(parameters: Parameters) -> int:
    return (2**parameters.width - 1) // SILOS


def drawn_values(parameters: Parameters, seed: int) -> NDArray[np.int64]:
    """At random; but in some coefficients all are 0, in some as large as can be, and in some these two alternate."""
    draw, largest = np.random.default_rng(seed), largest_of_one(parameters)
    values = draw.integers(0, largest, (parameters.values, parameters.degree), endpoint=True)
    values[:, 0:100], values[:, 100:200], values[0::2, 200:300], values[1::2, 200:300] = 0, largest, 0, largest
    return values.reshape(-1)


def coefficient(parameters: Parameters, values: NDArray[np.int64], column: int) -> int:
    """What the coefficient must be: value j of it is entry j * degree + column."""
    placed = enumerate(values[column :: parameters.degree].tolist())
    return sum(value << (parameters.floor_bits + index * parameters.width) for index, value in placed)


def remainders(numbers: NDArray[np.object_], primes: Residues) -> Residues:
    return np.stack([(numbers % int(prime)).astype(np.uint64) for prime in primes])


def as_opened(parameters: Parameters, coefficients: NDArray[np.object_]) -> Residues:
    """Coefficients as `unpack` gets them: residues without the last prime, times `crt_scale`."""
    primes = ring_of(parameters.degree).primes[:-1]
    scale = crt_scale(parameters.degree).astype(object)[:, None]
    return (remainders(coefficients, primes) * scale % primes.astype(object)[:, None]).astype(np.uint64)


def divided(degree: int, packed: Residues, noise: list[int]) -> Residues:
    """Packed polynomials divided by the last prime, plus noise, as `unpack` gets them."""
    ring, rows = ring_of(degree), list[list[int]]()
    for row, prime, scale in zip(
        packed[:-1].tolist(), ring.primes[:-1].tolist(), crt_scale(degree).tolist(), strict=True
    ):
        inverse = pow(ring.divisor, -1, prime)
        rows.append([(entry * inverse + added) * scale % prime for entry, added in zip(row, noise, strict=True)])
    return np.array(rows, dtype=np.uint64)


def zeros(parameters: Parameters) -> NDArray[np.object_]:
    return np.array([0] * parameters.degree, dtype=object)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("width", [2, 16, 31, 33, 62])
def test_a_packed_coefficient_is_the_shifted_sum_of_its_values_times_the_last_prime(degree: int, width: int) -> None:
    parameters, ring = sizes(degree, width), ring_of(degree)
    values = drawn_values(parameters, seed=width)
    packed = pack(parameters, values)
    columns = [0, 100, 200, degree - 1, *random.Random(1).sample(range(degree), 60)]  # noqa: S311
    for column in columns:
        whole = coefficient(parameters, values, column) * ring.divisor
        assert packed[:, column].tolist() == [whole % int(prime) for prime in ring.primes]


@pytest.mark.parametrize("flooding_bits", range(87, 93))
def test_no_bit_is_lost_where_a_value_crosses_the_border_of_a_word(flooding_bits: int) -> None:
    """Lowest values of 33 bits that end at bit 63 to 68; all their bits are set."""
    parameters = sizes(8192, 33, flooding_bits=flooding_bits)
    assert 63 <= parameters.floor_bits + parameters.width <= 68
    values = np.full(parameters.length, 2**33 - 1)
    whole, ring = coefficient(parameters, values, 0), ring_of(8192)
    packed, opened = pack(parameters, values), as_opened(parameters, zeros(parameters) + whole)
    assert packed[:, 0].tolist() == [whole * ring.divisor % int(prime) for prime in ring.primes]
    np.testing.assert_array_equal(unpack(parameters, opened, 2**33 - 1), values)


@pytest.mark.parametrize("degree", DEGREES)
def test_remainders_are_exact_where_double_precision_finds_a_quotient_one_too_large(degree: int) -> None:
    """Random values meet such a case once in 2^32: products just below a multiple of a prime, found by search."""
    primes = ring_of(degree).primes
    quotients = np.arange(1, 2**21, dtype=np.uint64)
    just_below = [
        int(quotient) * int(prime) >> 40
        for prime in primes
        for quotient in quotients[np.argpartition((quotients * prime) & np.uint64(2**40 - 1), 20)[:20]]
    ]
    remainder = residues_of(np.array([just_below]), (2**40,), primes)  # of the three parts the highest only
    for row, prime in zip(remainder.tolist(), primes.tolist(), strict=True):
        assert row == [(number << 40) % prime for number in just_below]


def test_a_message_that_is_not_full_is_filled_with_zeros() -> None:
    parameters = sizes(8192, 20)
    values = drawn_values(parameters, seed=4)
    short = values[: parameters.degree + 5]
    filled = np.concatenate([short, np.zeros(parameters.length - len(short), dtype=np.int64)])
    np.testing.assert_array_equal(pack(parameters, short), pack(parameters, filled))


@settings(max_examples=10, deadline=None)
@given(
    width=st.integers(2, 62),
    degree=st.sampled_from(DEGREES),
    flooding_bits=st.integers(60, 100),
    seed=st.integers(0, 2**32),
)
def test_the_sum_of_packed_values_comes_back_exactly_under_any_noise_that_the_floor_holds(
    width: int, degree: int, flooding_bits: int, seed: int
) -> None:
    parameters = sizes(degree, width, flooding_bits=flooding_bits)
    ring, half = ring_of(degree), 2 ** (parameters.floor_bits - 1)
    silos = [drawn_values(parameters, seed + number) for number in range(SILOS)]
    total = np.zeros((len(ring.primes), degree), dtype=np.uint64)
    for values in silos:
        ring.add(total, pack(parameters, values))
    draw = random.Random(seed)  # noqa: S311
    noise = [draw.choice((-half, half - 1, draw.randrange(-half, half))) for _ in range(degree)]
    unpacked = unpack(parameters, divided(degree, total, noise), SILOS * largest_of_one(parameters))
    np.testing.assert_array_equal(unpacked, np.sum(silos, axis=0))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("everywhere", ["zero", "largest"])
@pytest.mark.parametrize("push", [-1, 1])
def test_noise_at_its_end_moves_no_value_at_its_end(degree: int, everywhere: str, push: int) -> None:
    parameters = sizes(degree, 30)
    value = largest_of_one(parameters) * SILOS if everywhere == "largest" else 0
    values = np.full(parameters.length, value, dtype=np.int64)
    half = 2 ** (parameters.floor_bits - 1)
    opened = zeros(parameters) + coefficient(parameters, values, 0) + (half - 1 if push > 0 else -half)
    np.testing.assert_array_equal(unpack(parameters, as_opened(parameters, opened), value), values)


@pytest.mark.parametrize("degree", DEGREES)
def test_what_is_no_sum_of_uploads_does_not_open(degree: int) -> None:
    """Uniform residues, as from one wrong share of the key. All coefficients pass with probability below 2^-8192."""
    parameters, ring = sizes(degree, 30), ring_of(degree)
    draw = np.random.default_rng(2)
    uniform = np.stack([draw.integers(0, prime, degree, dtype=np.uint64) for prime in ring.primes[:-1]])
    with pytest.raises(OpeningFailed):
        unpack(parameters, uniform, 2**parameters.width - 1)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("position", ["first", "last"])
def test_one_value_above_the_largest_does_not_open(degree: int, position: str) -> None:
    parameters, largest = sizes(degree, 30), 1000
    index = 0 if position == "first" else parameters.values - 1
    opened = zeros(parameters)
    opened[77] = largest << (parameters.floor_bits + index * parameters.width)
    assert unpack(parameters, as_opened(parameters, opened), largest)[index * degree + 77] == largest
    opened[77] += 1 << (parameters.floor_bits + index * parameters.width)
    with pytest.raises(OpeningFailed):
        unpack(parameters, as_opened(parameters, opened), largest)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_coefficient_above_its_topmost_value_does_not_open(degree: int) -> None:
    parameters = sizes(degree, 30)
    opened = zeros(parameters)
    opened[77] = 1 << (parameters.floor_bits + parameters.values * parameters.width)
    with pytest.raises(OpeningFailed):
        unpack(parameters, as_opened(parameters, opened), 2**parameters.width - 1)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_coefficient_further_below_zero_than_noise_reaches_does_not_open(degree: int) -> None:
    parameters = sizes(degree, 30)
    opened = zeros(parameters)
    opened[77] = -(2 ** (parameters.floor_bits - 1)) - 1
    with pytest.raises(OpeningFailed):
        unpack(parameters, as_opened(parameters, opened), 2**parameters.width - 1)


def integers_of(degree: int, polynomial: Residues) -> list[int]:
    """Centred integers, by the remainder theorem over all primes: a residue that does not belong makes them huge."""
    primes = [int(prime) for prime in ring_of(degree).primes]
    product = math.prod(primes)
    parts = [product // prime * pow(product // prime, -1, prime) for prime in primes]
    numbers = np.dot(np.array(parts, dtype=object), polynomial.astype(object)) % product
    return [int(number) - product * (number > product // 2) for number in numbers]


@pytest.mark.parametrize(("degree", "bits"), [(8192, 60), (8192, 63), (8192, 64), (8192, 90), (16384, 119)])
class TestFlooding:
    """Each statistical test would raise a false alarm with one seed in a million."""

    def shifted(self, degree: int, bits: int) -> NDArray[np.object_]:
        """The flooding plus 2^f, which must be uniform in [0, 2^(f+1))."""
        parameters = Parameters(SILOS, degree, degree, 8, 1, bits, keys=1)
        (polynomial,) = draw_flooding(parameters, SeededRandomness(bits), 1)
        return np.array(integers_of(degree, polynomial), dtype=object) + 2**bits

    def test_it_stays_in_its_range(self, degree: int, bits: int) -> None:
        shifted = self.shifted(degree, bits)
        assert shifted.min() >= 0
        assert shifted.max() < 2 ** (bits + 1)

    def test_its_highest_and_its_lowest_bits_are_uniform(self, degree: int, bits: int) -> None:
        shifted = self.shifted(degree, bits)
        for digits in (shifted >> (bits + 1 - 8), shifted & 255):
            assert stats.chisquare(np.bincount(digits.astype(np.int64), minlength=256)).pvalue > 5e-7

    def test_each_of_its_bits_is_a_fair_coin(self, degree: int, bits: int) -> None:
        shifted = self.shifted(degree, bits)
        ones = np.array([int(((shifted >> bit) & 1).sum()) for bit in range(bits + 1)])
        deviations = (ones - degree / 2) / math.sqrt(degree / 4)
        assert stats.chi2.sf((deviations**2).sum(), bits + 1) > 1e-6


def test_no_two_polynomials_of_flooding_are_alike() -> None:
    """Two coefficients of 91 bits coincide with probability 2^-91."""
    parameters, randomness = sizes(8192, 30), SeededRandomness(1)
    drawn = np.concatenate([draw_flooding(parameters, randomness, 2), draw_flooding(parameters, randomness, 1)])
    assert drawn.shape == (3, 3, 8192)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert not (drawn[first] == drawn[second]).any()
