"""Reals and integers into values, and opened sums back."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.sums.joint_key.encryption import decode_sum
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.packing import pack
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.values import largest_value, to_total, to_values
from siloseal.federation.sums.session import IntegerDomain, RealDomain

SILOS = 3


def opened_messages(parameters: Parameters, values: NDArray[np.int64]) -> Residues:
    """As c0 and all openings add up to: evaluated and divided, here without noise."""
    ring = ring_of(parameters.degree)
    packed = np.stack([pack(parameters, part) for part in values.reshape(-1, ring.degree * parameters.values)])
    ones = np.ones((len(ring.primes), ring.degree), dtype=np.uint64)
    return ring.multiply_add(ring.evaluate(packed), ones, None, divide=True)


def test_a_sum_over_several_messages_comes_back_in_order_and_cut_to_its_length() -> None:
    """Ten messages, which is more than are decoded together."""
    parameters = Parameters(SILOS, 10 * 8192 * 3 - 7, 8192, 20, 3, 80, keys=3)
    values = np.random.default_rng(5).integers(0, 1000, 10 * 8192 * 3)
    values[parameters.length :] = 0
    decoded = decode_sum(parameters, opened_messages(parameters, values), 1000)
    np.testing.assert_array_equal(decoded, values[: parameters.length])


def test_a_value_where_nobody_had_put_any_does_not_open() -> None:
    parameters = Parameters(SILOS, 2 * 8192 * 3 - 7, 8192, 20, 3, 80, keys=1)
    values = np.random.default_rng(5).integers(0, 1000, 2 * 8192 * 3)
    values[parameters.length :] = [0, 0, 0, 0, 0, 0, 1]
    with pytest.raises(OpeningFailed):
        decode_sum(parameters, opened_messages(parameters, values), 1000)


@settings(max_examples=60, deadline=None)
@given(
    bound=st.floats(1e-9, 1e12),
    precision_bits=st.integers(8, 40),
    contributors=st.integers(1, 40),
    seed=st.integers(0, 2**32),
)
def test_a_sum_of_reals_is_off_by_half_a_step_a_silo_at_most(
    bound: float, precision_bits: int, contributors: int, seed: int
) -> None:
    domain = RealDomain(50, bound)
    vectors = np.random.default_rng(seed).uniform(-bound, bound, (contributors, domain.length))
    vectors[:, 0], vectors[:, 1] = bound, -bound
    values = np.sum([to_values(domain, vector, precision_bits) for vector in vectors], axis=0)
    total, error_bound = to_total(domain, values, contributors, precision_bits)
    step = Fraction(bound) * (1 + Fraction(1, 2**23)) / (2**precision_bits - Fraction(1, 2))
    assert error_bound <= contributors * step / 2 * (1 + Fraction(1, 2**8))
    for entry, column in zip(total.tolist(), vectors.T.tolist(), strict=True):
        assert abs(Fraction(entry) - sum(map(Fraction, column))) <= error_bound


def test_the_error_bound_of_one_contribution_is_reached() -> None:
    """The largest of 10,000 roundings falls short of half a step by 1 % with probability 10^-43."""
    domain, vector = RealDomain(10_000, 8.0), np.random.default_rng(3).uniform(-8, 8, 10_000)
    total, error_bound = to_total(domain, to_values(domain, vector, 28), 1, 28)
    assert np.abs(total - vector).max() > 0.99 * error_bound


@pytest.mark.parametrize("bound", [8.0, 0.1, 1 / 3, 1e30, 1e-270])
@pytest.mark.parametrize("precision_bits", [8, 28, 40])
def test_an_entry_at_the_bound_or_beyond_it_by_rounding_survives(bound: float, precision_bits: int) -> None:
    beyond = bound * (1 + 2.0**-23)
    vector = np.array([bound, -bound, beyond, -beyond, float(np.float32(bound)), np.nextafter(bound, np.inf)])
    domain = RealDomain(len(vector), bound)
    domain.check(vector)
    values = to_values(domain, vector, precision_bits)
    assert 0 <= values.min() <= 1
    assert values.max() == largest_value(domain, precision_bits) == 2 ** (precision_bits + 1) - 1
    total, error_bound = to_total(domain, values, 1, precision_bits)
    assert np.abs(total - vector).max() <= error_bound


def test_integers_are_exact_and_wrap_around() -> None:
    modulus = 2**58 - 27
    domain = IntegerDomain(4, modulus)
    silos = [np.array([0, 1, modulus - 1, modulus - 1]), np.array([0, 2, 1, modulus - 1])]
    values = np.sum([to_values(domain, vector, 28) for vector in silos], axis=0)
    total, error_bound = to_total(domain, values, 2, 28)
    assert error_bound == 0
    assert total.tolist() == [0, 3, 0, modulus - 2]
    assert largest_value(domain, 28) == modulus - 1
