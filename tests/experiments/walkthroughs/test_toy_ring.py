"""The toy ring computes as one does by hand, and as the definition says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siloseal.experiments.walkthroughs.toy_ring import ToyRing
from siloseal.federation.errors import DomainError

RING = ToyRing(degree=4, modulus=99_991)
polynomials = st.tuples(*[st.integers(-49_995, 49_995)] * 4)


def test_x_to_the_degree_is_minus_one() -> None:
    assert RING.multiply((0, 0, 0, 1), (0, 1, 0, 0)) == (-1, 0, 0, 0)
    assert RING.multiply((1, 2, 0, 0), (3, 0, 0, -1)) == (5, 6, 0, -1)


def test_remainders_are_those_nearest_to_zero() -> None:
    assert RING.reduce((49_995, 49_996, -49_995, -49_996)) == (49_995, -49_995, -49_995, 49_995)


@given(polynomials, polynomials, polynomials)
def test_products_distribute_over_sums(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...]) -> None:
    assert RING.multiply(a, RING.add(b, c)) == RING.add(RING.multiply(a, b), RING.multiply(a, c))
    assert RING.multiply(a, b) == RING.multiply(b, a)


def test_division_finds_the_other_factor() -> None:
    factor, other = (26_933, -27_852, 3_218, 9_381), (1, 0, -1, 1)
    assert RING.divide(RING.multiply(factor, other), factor) == other


@given(polynomials, st.lists(st.tuples(*[st.tuples(*[st.integers(-1, 1)] * 4)] * 2, polynomials), min_size=1))
def test_the_sum_of_the_keys_opens_the_sum_of_the_uploads(
    a: tuple[int, ...], silos: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
) -> None:
    uploads = [RING.add(RING.multiply(a, key), error, message) for key, error, message in silos]
    keys, errors, messages = (RING.add(*column) for column in zip(*silos, strict=True))
    opened = RING.add(*uploads, RING.scale(-1, RING.multiply(a, keys)))
    assert opened == RING.add(errors, messages)


def test_division_by_zero_and_polynomials_of_another_length_are_refused() -> None:
    with pytest.raises(DomainError, match="factor"):
        RING.divide((1, 0, 0, 0), (0, 0, 0, 0))
    with pytest.raises(DomainError, match="3 coefficients"):
        RING.reduce((1, 2, 3))
