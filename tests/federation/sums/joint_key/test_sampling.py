"""What is drawn: the distributions, and what a seed stands for.

Each statistical test would raise a false alarm with one seed in a million.
"""

import hashlib
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.joint_key.sampling import (
    COIN_PAIRS,
    ERROR_VARIANCE,
    TERNARY_VARIANCE,
    draw_errors,
    draw_ternary,
    expand_ternary,
    stream_length,
    ternary,
)

SEED, LABEL = bytes(range(64)), b"secret polynomial 0"

RECORDED_TERNARY = [0, 1, 0, -1, 1, 1, 0, 0, 1, 1, 1, -1, 1, 0, -1, 0]
RECORDED_TERNARY_DIGEST = "d52c1b9ff396fa50969adb908447552f475c00ad95e648370887bf6398a99614"

TERNARIES: dict[str, Callable[[], NDArray[np.int64]]] = {
    "drawn": lambda: draw_ternary(SeededRandomness(1), (3, 16384)),
    "expanded": lambda: expand_ternary(SEED, LABEL, 49152),
}


@pytest.mark.parametrize("draw", TERNARIES.values(), ids=TERNARIES.keys())
class TestTernary:
    def test_it_is_uniform_over_the_three_values(self, draw: Callable[[], NDArray[np.int64]]) -> None:
        values, counts = np.unique(draw(), return_counts=True)
        assert values.tolist() == [-1, 0, 1]
        assert counts.sum() == 49152
        assert stats.chisquare(counts).pvalue > 1e-6

    def test_neighbours_are_independent(self, draw: Callable[[], NDArray[np.int64]]) -> None:
        first, second = draw().reshape(-1, 2).T
        assert stats.chisquare(np.bincount(3 * (first + 1) + second + 1, minlength=9)).pvalue > 1e-6

    def test_its_variance_is_the_one_that_the_noise_is_derived_from(
        self, draw: Callable[[], NDArray[np.int64]]
    ) -> None:
        nonzero = int((draw() ** 2).sum())
        assert TERNARY_VARIANCE == 2 / 3
        assert abs(nonzero - 49152 * TERNARY_VARIANCE) < 4.9 * math.sqrt(49152 * 2 / 9)


def test_every_byte_below_252_counts_and_no_other() -> None:
    every = ternary(bytes(range(256)), 252)
    assert every.tolist() == [byte % 3 - 1 for byte in range(252)]
    assert ternary(bytes([255, 252, 5, 253, 254, 251]), 2).tolist() == [1, 1]


def test_too_few_bytes_are_an_error_and_not_a_shorter_secret() -> None:
    with pytest.raises(RuntimeError):
        ternary(bytes([255] * 100 + [1] * 9), 10)


@pytest.mark.parametrize("count", [1, 8192, 16384, 2_000_000])
def test_a_stream_is_long_enough_but_with_probability_two_to_the_minus_200(count: int) -> None:
    """A byte counts with probability 63/64."""
    assert stats.binom(stream_length(count), 63 / 64).logcdf(count - 1) < -200 * math.log(2)


def test_a_seed_always_stands_for_the_same_secret() -> None:
    np.testing.assert_array_equal(expand_ternary(SEED, LABEL, 8192), expand_ternary(SEED, LABEL, 8192))


def test_other_seeds_and_other_labels_stand_for_other_secrets() -> None:
    """Agreement of two secrets of 8192 entries is a third, within five deviations of 0.0052."""
    mine = expand_ternary(SEED, LABEL, 8192)
    flipped = bytes([1]) + SEED[1:]
    for seed, label in ((flipped, LABEL), (SEED[:-1] + b"\0", LABEL), (SEED, b"secret polynomial 1"), (SEED, b"")):
        assert abs((expand_ternary(seed, label, 8192) == mine).mean() - 1 / 3) < 0.026


def test_the_recorded_secret_of_a_seed_has_not_changed() -> None:
    """A seed that was split under an older version must still give its secret. Recorded from SHAKE-256 on first use."""
    secret = expand_ternary(SEED, LABEL, 16384)
    assert secret[:16].tolist() == RECORDED_TERNARY
    assert hashlib.sha256(secret.astype(np.int8).tobytes()).hexdigest() == RECORDED_TERNARY_DIGEST


def test_errors_are_differences_of_21_coins_and_21_coins() -> None:
    """That is a binomial of 42 fair coins, shifted by 21."""
    errors = draw_errors(SeededRandomness(2), (25, 16384))
    assert errors.shape == (25, 16384)
    assert COIN_PAIRS == 21
    counts = np.bincount(errors.reshape(-1) + 21, minlength=43)
    assert len(counts) == 43  # none beyond 21
    expected = stats.binom(42, 0.5).pmf(np.arange(43)) * errors.size
    middle = expected >= 10
    observed = np.append(counts[middle], counts[~middle].sum())
    assert stats.chisquare(observed, np.append(expected[middle], expected[~middle].sum())).pvalue > 1e-6


def test_errors_have_mean_zero_and_the_variance_of_the_derivation() -> None:
    errors = draw_errors(SeededRandomness(3), (25, 16384)).astype(np.float64)
    assert ERROR_VARIANCE == 10.5
    assert abs(errors.mean()) < 4.9 * math.sqrt(10.5 / errors.size)
    # The fourth moment of 42 coins of variance 1/4 is 3 v^2 - v / 2.
    deviation = math.sqrt((3 * 10.5**2 - 10.5 / 2 - 10.5**2) / errors.size)
    assert abs((errors**2).mean() - 10.5) < 4.9 * deviation


def test_neighbouring_errors_are_uncorrelated() -> None:
    errors = draw_errors(SeededRandomness(4), (25, 16384)).reshape(-1)
    assert abs(np.corrcoef(errors[:-1], errors[1:])[0, 1]) < 4.9 / math.sqrt(errors.size)


def test_two_draws_differ() -> None:
    randomness = SeededRandomness(5)
    assert not np.array_equal(draw_errors(randomness, (1, 100)), draw_errors(randomness, (1, 100)))
    assert not np.array_equal(draw_ternary(randomness, (1, 100)), draw_ternary(randomness, (1, 100)))
