"""Values into coefficients and back, against Python's own integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.sums.ckks.packing import _divide, pack, unpack
from siloseal.federation.sums.ckks.parameters import Parameters, derive
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.wide import crt_scale
from siloseal.federation.sums.session import IntegerDomain, RealDomain

SILOS = 5
SETTINGS = {
    "16 bits": derive(RealDomain(200_000, 1.0), SILOS, precision_bits=16),
    "28 bits": derive(RealDomain(200_000, 1.0), SILOS, precision_bits=28),
    "40 bits, in two factors": derive(RealDomain(2_000, 1.0), SILOS, precision_bits=40),
    "bits": derive(IntegerDomain(200_000, 2), SILOS, precision_bits=28),
    "58 bits": derive(IntegerDomain(300, 2**58), SILOS, precision_bits=28),
}
COLUMNS = 64


def drawn(parameters: Parameters, largest: int, seed: int = 1) -> NDArray[np.int64]:
    """At random; but in some coefficients all are 0, in some as large as can be, and in some these two alternate."""
    values = np.random.default_rng(seed).integers(0, largest, (parameters.values, COLUMNS), endpoint=True)
    values[:, 0:5], values[:, 5:10], values[0::2, 10:15], values[1::2, 10:15] = 0, largest, 0, largest
    return values


def coefficients(parameters: Parameters, values: NDArray[np.int64]) -> NDArray[np.object_]:
    """What the coefficients must be."""
    places = [parameters.floor * parameters.radix**index for index in range(parameters.values)]
    return np.array(places, dtype=object) @ values.astype(object)


def as_opened(parameters: Parameters, numbers: NDArray[np.object_]) -> Residues:
    """Coefficients as `unpack` gets them: residues times `crt_scale`."""
    primes = parameters.ring.primes
    scaled = [
        numbers % int(prime) * int(scale) % int(prime) for prime, scale in zip(primes, crt_scale(primes), strict=True)
    ]
    return np.stack(scaled).astype(np.uint64)


@pytest.mark.parametrize("parameters", SETTINGS.values(), ids=SETTINGS)
class TestCoefficients:
    def test_packed_values_are_the_coefficients_residues(self, parameters: Parameters) -> None:
        values = drawn(parameters, parameters.largest)
        exact = coefficients(parameters, values)
        expected = np.stack([(exact % int(prime)).astype(np.uint64) for prime in parameters.ring.primes])
        np.testing.assert_array_equal(pack(parameters, values), expected)

    @pytest.mark.parametrize("side", [-1, 0, 1])
    def test_a_sum_comes_back_whatever_its_errors(self, parameters: Parameters, side: int) -> None:
        """With the largest errors of either sign that the floor is made for."""
        values = drawn(parameters, SILOS * parameters.largest)
        opened = as_opened(parameters, coefficients(parameters, values) + side * (parameters.floor // 2))
        np.testing.assert_array_equal(unpack(parameters, opened, SILOS), values)

    def test_a_value_that_its_contributors_cannot_reach_is_refused(self, parameters: Parameters) -> None:
        values = drawn(parameters, (SILOS - 1) * parameters.largest)
        unpack(parameters, as_opened(parameters, coefficients(parameters, values)), SILOS - 1)
        values[0, 20] = (SILOS - 1) * parameters.largest + 1
        with pytest.raises(OpeningFailed):
            unpack(parameters, as_opened(parameters, coefficients(parameters, values)), SILOS - 1)

    @pytest.mark.parametrize("wrong", ["negative", "too large", "anything"])
    def test_a_coefficient_that_no_sum_has_is_refused(self, parameters: Parameters, wrong: str) -> None:
        modulus = int(np.prod(parameters.ring.primes.astype(object)))
        number = {
            "negative": -parameters.floor,
            "too large": parameters.floor * parameters.radix**parameters.values,
            "anything": modulus * 7 // 8,
        }[wrong]
        numbers = coefficients(parameters, drawn(parameters, parameters.largest))
        numbers[33] = number % modulus
        with pytest.raises(OpeningFailed):
            unpack(parameters, as_opened(parameters, numbers), SILOS)


def test_uniform_coefficients_pass_for_a_sum_with_probability_one_half_each() -> None:
    """So that 64 of them, the fewest there are, pass with probability 2^-64. Of 400, at most 260 pass but for 1e-9."""
    parameters, draw, passed = SETTINGS["16 bits"], np.random.default_rng(4), 0
    for _ in range(400):
        numbers = np.stack([draw.integers(0, int(prime), 1, dtype=np.uint64) for prime in parameters.ring.primes])
        try:
            unpack(parameters, numbers, SILOS)
            passed += 1
        except OpeningFailed:
            pass
    assert passed <= 260


@settings(max_examples=50, deadline=None)
@given(
    numbers=st.lists(st.integers(-(2**70), 2**200), min_size=1, max_size=5),
    divisor=st.integers(2, 2**40),
)
def test_division_of_wide_integers_is_pythons(numbers: list[int], divisor: int) -> None:
    digits = np.array([[number >> (16 * place) & 0xFFFF for number in numbers] for place in range(13)])
    digits[-1] = [number >> (16 * 12) for number in numbers]
    rest = _divide(digits, divisor)
    assert rest.tolist() == [number % divisor for number in numbers]
    quotients = [sum(int(digit) << (16 * place) for place, digit in enumerate(column)) for column in digits.T]
    assert quotients == [number // divisor for number in numbers]


def test_a_divisor_that_overflows_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        _divide(np.zeros((3, 2), dtype=np.int64), 2**50)
