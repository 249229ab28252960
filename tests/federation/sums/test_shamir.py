"""Secret sharing: recorded vectors, which shares suffice, and what fewer tell."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from siloseal.federation.errors import OpeningFailed, QuorumLost
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.shamir import KEY_FIELD, SEED_FIELD, evaluate, join, recover, split, uniform

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "shamir.json").read_text())
LARGE = VECTORS[1]
SEED = int.from_bytes(bytes(range(192, 256)), "little")
"""64 bytes, the topmost bit among them."""


@pytest.mark.parametrize("vector", VECTORS, ids=["257", "2^127-1"])
def test_the_recorded_shares_come_out(vector: dict[str, Any]) -> None:
    inputs = vector["inputs"]
    values = [evaluate(inputs["coefficients"], point, prime=inputs["prime"]) for point in inputs["points"]]
    assert values == vector["expected"]


@pytest.mark.parametrize("vector", VECTORS, ids=["257", "2^127-1"])
def test_any_three_of_the_recorded_shares_give_the_recorded_secret(vector: dict[str, Any]) -> None:
    inputs = vector["inputs"]
    shares = dict(zip(inputs["points"], vector["expected"], strict=True))
    for points in combinations(shares, 3):
        chosen = {point: shares[point] for point in points}
        assert join(chosen, 3, prime=inputs["prime"]) == inputs["coefficients"][0]


def test_two_shares_of_three_interpolate_to_something_else() -> None:
    shares = {2: LARGE["expected"][1], 4: LARGE["expected"][3]}
    assert join(shares, 2, prime=LARGE["inputs"]["prime"]) == 123456784567901234456790123450


@pytest.mark.parametrize(("count", "threshold"), [(2, 2), (3, 2), (5, 3), (6, 6), (7, 1)])
def test_any_threshold_many_shares_of_a_seed_give_it_back(count: int, threshold: int) -> None:
    shares = split(SEED, list(range(1, count + 1)), threshold, SecureRandomness(), prime=SEED_FIELD)
    assert sorted(shares) == list(range(1, count + 1))
    for points in combinations(shares, threshold):
        assert join({point: shares[point] for point in points}, threshold, prime=SEED_FIELD) == SEED


def test_more_shares_than_needed_give_the_secret_too() -> None:
    shares = split(SEED, [1, 2, 3, 4, 5], 3, SecureRandomness(), prime=SEED_FIELD)
    assert join(shares, 3, prime=SEED_FIELD) == SEED


def test_the_field_is_prime_and_holds_every_seed() -> None:
    assert SEED_FIELD > 2 ** (8 * 64)
    assert all(pow(base, SEED_FIELD - 1, SEED_FIELD) == 1 for base in (2, 3, 5, 7, 11))


def test_fewer_shares_than_the_threshold_are_refused() -> None:
    shares = split(SEED, [1, 2, 3, 4], 3, SecureRandomness(), prime=SEED_FIELD)
    with pytest.raises(QuorumLost):
        join({1: shares[1], 4: shares[4]}, 3, prime=SEED_FIELD)


@pytest.mark.parametrize("point", [1, 2, 5])
def test_one_wrong_share_gives_another_secret(point: int) -> None:
    shares = split(SEED, [1, 2, 5], 3, SecureRandomness(), prime=SEED_FIELD)
    assert join({**shares, point: (shares[point] + 1) % SEED_FIELD}, 3, prime=SEED_FIELD) != SEED


@pytest.mark.parametrize("point", [0, 257, -514])
def test_a_share_at_the_secrets_own_point_is_refused(point: int) -> None:
    with pytest.raises(OpeningFailed):
        split(42, [1, point], 2, SecureRandomness(), prime=257)


def test_two_splits_of_one_secret_share_nothing() -> None:
    """Two shares of 521 bits coincide with probability 2^-520."""
    first, second = (split(SEED, [1, 2, 3], 2, SecureRandomness(), prime=SEED_FIELD) for _ in range(2))
    assert all(first[point] != second[point] for point in (1, 2, 3))


def test_every_coefficient_but_the_secret_is_uniform() -> None:
    """The share of the secret 0 at point 1, with t = 2, is the coefficient. False alarm once in a million seeds."""
    randomness = SeededRandomness(3)
    drawn = Counter(split(0, [1], 2, randomness, prime=11)[1] for _ in range(10_000))
    assert stats.chisquare([drawn[value] for value in range(11)]).pvalue > 1e-6
    assert drawn.total() == sum(drawn[value] for value in range(11))


@pytest.mark.parametrize("secret", [0, 3])
def test_one_share_fewer_than_the_threshold_is_uniform_whatever_the_secret(secret: int) -> None:
    """All 25 pairs of shares modulo 5, with t = 3, come equally often. False alarm once in a million seeds."""
    randomness = SeededRandomness(secret)
    pairs = Counter(tuple(split(secret, [1, 2], 3, randomness, prime=5).values()) for _ in range(5000))
    assert stats.chisquare([pairs[first, second] for first in range(5) for second in range(5)]).pvalue > 1e-6


def test_a_share_at_the_secrets_own_point_is_refused_when_shares_are_joined() -> None:
    with pytest.raises(OpeningFailed):
        join({0: 5, 1: 6}, 2, prime=257)


class TestTheFieldOfKeys:
    def test_is_prime_and_its_shares_take_32_bytes(self) -> None:
        assert 2**254 < KEY_FIELD < 2**255
        assert all(pow(base, KEY_FIELD - 1, KEY_FIELD) == 1 for base in (2, 3, 5, 7, 11))
        for secret in (0, 1, KEY_FIELD - 1):
            shares = split(secret, list(range(1, 8)), 5, SecureRandomness(), prime=KEY_FIELD)
            written = {point: share.to_bytes(32, "little") for point, share in shares.items()}
            read = {point: int.from_bytes(share, "little") for point, share in written.items()}
            assert join(read, 5, prime=KEY_FIELD) == secret

    def test_gives_secrets_below_it_and_uniform_ones(self) -> None:
        """The five highest of 255 bits. False alarm once in a million seeds."""
        randomness = SeededRandomness(5)
        drawn = [uniform(randomness, KEY_FIELD) for _ in range(5000)]
        assert max(drawn) < KEY_FIELD
        highest = Counter(secret >> 250 for secret in drawn)
        assert stats.chisquare([highest[value] for value in range(32)]).pvalue > 1e-6

    def test_one_share_too_few_interpolates_to_something_unrelated(self) -> None:
        """Another value in every splitting of the same key; two of them coincide with probability 2^-255."""
        secret, found = uniform(SecureRandomness(), KEY_FIELD), set[int]()
        for _ in range(20):
            shares = split(secret, [1, 2, 3, 4, 5], 4, SecureRandomness(), prime=KEY_FIELD)
            del shares[2], shares[5]
            found.add(join(shares, 3, prime=KEY_FIELD))
        assert secret not in found
        assert len(found) == 20

    def test_one_share_too_few_fits_every_key(self) -> None:
        """For each key there is a missing share that leads to it."""
        shares = split(7, [1, 2, 3], 3, SecureRandomness(), prime=KEY_FIELD)
        at_zero = join({1: shares[1], 2: shares[2], 3: 0}, 3, prime=KEY_FIELD)
        weight = join({1: 0, 2: 0, 3: 1}, 3, prime=KEY_FIELD)
        for key in (0, 7, KEY_FIELD - 1):
            missing = (key - at_zero) * pow(weight, -1, KEY_FIELD) % KEY_FIELD
            assert join({1: shares[1], 2: shares[2], 3: missing}, 3, prime=KEY_FIELD) == key


class TestRecovery:
    SECRET = 123_456_789

    def shares(self, count: int, threshold: int, *false: int) -> dict[int, int]:
        shares = split(self.SECRET, list(range(1, count + 1)), threshold, SecureRandomness(), prime=KEY_FIELD)
        return {**shares, **{point: uniform(SecureRandomness(), KEY_FIELD) for point in false}}

    def recover(self, shares: dict[int, int], threshold: int) -> int | None:
        return recover(shares, threshold, lambda found: found == self.SECRET, prime=KEY_FIELD)

    @pytest.mark.parametrize(("count", "threshold"), [(2, 1), (3, 2), (5, 4), (7, 5), (9, 5)])
    def test_finds_the_secret_whichever_share_is_false_where_one_more_than_needed_came(
        self, count: int, threshold: int
    ) -> None:
        assert self.recover(self.shares(count, threshold), threshold) == self.SECRET
        for false in range(1, count + 1):
            assert self.recover(self.shares(count, threshold, false), threshold) == self.SECRET

    @pytest.mark.parametrize("threshold", [1, 2, 5])
    def test_finds_nothing_with_a_false_share_among_just_as_many_as_are_needed(self, threshold: int) -> None:
        assert self.recover(self.shares(threshold, threshold), threshold) == self.SECRET
        for false in range(1, threshold + 1):
            assert self.recover(self.shares(threshold, threshold, false), threshold) is None

    def test_finds_nothing_with_two_false_shares_of_one_more_than_needed(self) -> None:
        for false in combinations(range(1, 6), 2):
            assert self.recover(self.shares(5, 4, *false), 4) is None

    def test_finds_nothing_where_no_value_is_right(self) -> None:
        tried = list[int]()

        def never(found: int) -> bool:
            tried.append(found)
            return False

        assert recover(self.shares(5, 3), 3, never, prime=KEY_FIELD) is None
        assert set(tried) == {self.SECRET}

    def test_needs_as_many_shares_as_the_threshold(self) -> None:
        with pytest.raises(QuorumLost):
            self.recover(self.shares(2, 3), 3)
