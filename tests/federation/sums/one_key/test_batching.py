"""Lanes of a plaintext: exact up to their bounds, and nothing passes them."""

import numpy as np
import pytest

from siloseal.federation.errors import DomainError, OpeningFailed
from siloseal.federation.sums.one_key.batching import Batching

PLAINTEXT_BITS = 1023


@pytest.mark.parametrize("addends", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize("largest", [1, 2, 2**19 - 1, 2**19, 2**31 - 1, 2**53 - 1])
def test_the_sum_is_exact_where_every_value_of_every_silo_is_the_largest(largest: int, addends: int) -> None:
    batching = Batching(150, largest, addends, PLAINTEXT_BITS)
    plaintexts = batching.pack(np.full(150, largest))
    totals = [addends * plaintext for plaintext in plaintexts]
    assert all(total < 2**PLAINTEXT_BITS for total in totals)
    assert batching.unpack(totals).tolist() == [addends * largest] * 150


@pytest.mark.parametrize("length", [1, 38, 39, 40, 78, 500])
def test_lanes_add_up_each_for_itself(length: int) -> None:
    """Against numpy; 39 lanes of 26 bits fit."""
    batching = Batching(length, 2**24 - 1, 4, PLAINTEXT_BITS)
    assert (batching.lane_bits, batching.lanes, batching.plaintexts) == (26, 39, -(-length // 39))
    vectors = np.random.default_rng(1).integers(0, 2**24, (4, length))
    vectors[:, 0], vectors[:, -1] = 2**24 - 1, 0
    packed = [batching.pack(vector) for vector in vectors]
    totals = [sum(parts) for parts in zip(*packed, strict=True)]
    np.testing.assert_array_equal(batching.unpack(totals), vectors.sum(axis=0))


def test_a_plaintext_is_its_lanes_from_the_lowest_bit_on() -> None:
    batching = Batching(5, 1000, 3, 40)  # lanes of 12 bits, three in a plaintext
    assert batching.pack(np.array([1, 1000, 7, 0, 9])) == [1 + (1000 << 12) + (7 << 24), 0 + (9 << 12)]


def test_the_widest_lane_is_one_that_64_bits_hold() -> None:
    assert Batching(3, 2**62, 1, PLAINTEXT_BITS).unpack(
        Batching(3, 2**62, 1, PLAINTEXT_BITS).pack(np.array([2**62, 0, 2**62]))
    ).tolist() == [2**62, 0, 2**62]
    with pytest.raises(DomainError, match=r"2 vectors .* 4611686018427387904 .*precision_bits"):
        Batching(3, 2**62, 2, PLAINTEXT_BITS)


@pytest.mark.parametrize("value", [-1, 1001, 2**62])
def test_a_value_out_of_range_is_refused(value: int) -> None:
    with pytest.raises(DomainError, match="from 0 to 1000"):
        Batching(3, 1000, 4, PLAINTEXT_BITS).pack(np.array([5, value, 5]))


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(DomainError, match="3 integers"):
        Batching(3, 1000, 4, PLAINTEXT_BITS).pack(np.array([5, 5]))


def test_more_addends_than_the_lanes_were_made_for_are_refused() -> None:
    batching = Batching(3, 1000, 4, PLAINTEXT_BITS)
    batching.require_addends(4)
    with pytest.raises(DomainError, match=r"5 vectors .* 4$"):
        batching.require_addends(5)


def test_a_lane_that_is_larger_than_a_plaintext_is_refused() -> None:
    assert Batching(3, 2**20 - 1, 4, 22).lanes == 1
    with pytest.raises(DomainError, match=r" 22 bits .* 21; .*key_bits"):
        Batching(3, 2**20 - 1, 4, 21)


@pytest.mark.parametrize(("length", "largest", "addends"), [(0, 9, 2), (3, 0, 2), (3, 9, 0)])
def test_nothing_to_add_is_refused(length: int, largest: int, addends: int) -> None:
    with pytest.raises(DomainError):
        Batching(length, largest, addends, PLAINTEXT_BITS)


@pytest.mark.parametrize(
    "plaintexts",
    [
        [1 << 36],  # beyond the last lane
        [-1],
        [4 * 1000 + 1],  # more in a lane than four silos can have put there
        [1 << 24],  # in a lane that the vector does not reach
        [0, 0],
        [],
    ],
    ids=["beyond", "negative", "too-much", "behind-the-end", "too-many", "none"],
)
def test_plaintexts_that_no_vectors_add_up_to_are_refused(plaintexts: list[int]) -> None:
    batching = Batching(2, 1000, 4, 40)
    assert batching.unpack([4000 + (4000 << 12)]).tolist() == [4000, 4000]
    with pytest.raises(OpeningFailed):
        batching.unpack(plaintexts)
