"""Noise on a grid: what is released follows from integers alone, and the noise multiplier is true."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.privacy.mechanisms.gaussian_noise import (
    _STRETCH,
    ALLOWANCE,
    LARGEST_ROUNDING,
    _release,
    grid_of,
    noise_deviation,
    noised,
    require_little_rounding,
)
from siloseal.federation.privacy.mechanisms.rounded_gaussian import REACH, STEPS, draw
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.session import RealDomain

Dtype = type[np.float32] | type[np.float64]


def integers_of(vector: NDArray[np.float64], deviation: float) -> list[int]:
    return [round(Fraction(float(entry)) * Fraction(STEPS / deviation)) for entry in vector]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("deviation", [1.0, 0.7, 3e-6, 1234.5])
def test_what_is_released_is_the_sum_of_two_integers_rounded_to_the_grid(dtype: Dtype, deviation: float) -> None:
    vector = (np.random.default_rng(1).standard_normal(500) * 3 * deviation).astype(dtype)
    noise = draw(500, SeededRandomness(7))
    released = noised(vector, deviation, SeededRandomness(7))
    assert released.dtype == dtype
    grid = Fraction(grid_of(deviation))
    for entry, n, k in zip(released, integers_of(vector, deviation), noise.tolist(), strict=True):
        assert abs(Fraction(float(entry)) - Fraction(deviation) / int(STEPS) * (n + k)) <= grid * Fraction(501, 1000)


@pytest.mark.parametrize("deviation", [1.0, 0.7, 3e-6, 1234.5])
def test_every_entry_lies_on_the_grid_in_single_precision_too(deviation: float) -> None:
    vector = np.random.default_rng(2).uniform(-1000, 1000, 70_000) * deviation
    for dtype in (np.float32, np.float64):
        points = noised(vector.astype(dtype), deviation, SecureRandomness()).astype(np.float64) / grid_of(deviation)
        assert (points == np.rint(points)).all()


def test_the_grid_is_a_power_of_two_far_below_the_noise() -> None:
    for deviation in (1e-9, 0.3, 1.0, 5.0, 1e7):
        grid = grid_of(deviation)
        assert math.frexp(grid)[0] == 0.5
        assert deviation / 2**13 < grid <= deviation / 2**12


@given(
    st.lists(st.tuples(st.integers(-(2**45), 2**45), st.integers(-(2**42), 2**42), st.integers(-(2**41), 2**41))),
    st.floats(1e-6, 1e6),
)
@settings(deadline=None)
def test_equal_totals_of_integers_are_released_alike(moves: list[tuple[int, int, int]], deviation: float) -> None:
    """Nothing tells what was noise and what was not: no low bit, and no sign of a zero."""
    n, k, moved = (np.array(part, dtype=np.int64) for part in np.array(moves, dtype=np.int64).reshape(-1, 3).T)
    unit = 2.0 ** math.floor(math.log2(deviation))  # so that the vectors' entries are exact
    one, other = np.empty((2, n.size))
    for steps, noise, released in ((n, k, one), (n + moved, k - moved, other)):
        _release(steps * (unit / STEPS), noise.astype(np.float64), unit, np.empty(n.size), released)
    assert one.tobytes() == other.tobytes()


def test_entries_that_round_to_the_same_integer_are_released_alike() -> None:
    step = 0.5 / STEPS
    whole = np.arange(-5000, 5000) * 2.0**20 * step
    first, *others = (noised(whole + off * step, 0.5, SeededRandomness(3)) for off in (0, 0.4, -0.45))
    assert all(other.tobytes() == first.tobytes() for other in others)


@given(
    st.lists(
        st.tuples(st.floats(-1e3, 1e3, allow_subnormal=False), st.floats(-1, 1, allow_subnormal=False)),
        min_size=1,
        max_size=30,
    ),
    st.floats(0.1, 100),
)
@settings(deadline=None)
def test_rounding_moves_neighbours_apart_by_the_root_of_the_length_at_most(
    entries: list[tuple[float, float]], deviation: float
) -> None:
    vector, move = (np.array(part) for part in zip(*entries, strict=True))
    n, moved = (np.array(integers_of(part, deviation), dtype=np.float64) for part in (vector, vector + move))
    shift = float(np.linalg.norm((vector + move) - vector)) * STEPS / deviation
    assert np.linalg.norm(n - moved) <= shift * (1 + 1e-12) + math.sqrt(len(entries))


@pytest.mark.parametrize("noise_multiplier", [1e-6, 0.3, 1.0, 50.0, 2.0**24])
def test_the_noise_multiplier_is_true_after_rounding_with_most_of_the_allowance_left(noise_multiplier: float) -> None:
    clip_norm = 0.37
    length = math.floor((LARGEST_ROUNDING / noise_multiplier) ** 2)
    require_little_rounding(noise_multiplier, length)
    step = noise_deviation(noise_multiplier, clip_norm) / STEPS
    moved = clip_norm * (1 + 0.9 * ALLOWANCE) / step + math.sqrt(length)
    assert moved * noise_multiplier < STEPS
    with pytest.raises(UncountableEvent):
        require_little_rounding(noise_multiplier, 2 * length)


@pytest.mark.parametrize("mechanism", [GaussianAtSilo(1.0, 2.0**20), GaussianAtAggregator(None, 1.0, 2.0**20)])
def test_a_release_that_rounding_would_make_dearer_cannot_be_counted(
    mechanism: GaussianAtSilo | GaussianAtAggregator,
) -> None:
    assert mechanism.event(RealDomain(2**8, 1.0), 1)
    with pytest.raises(UncountableEvent):
        mechanism.event(RealDomain(2**8 + 1, 1.0), 1)


def test_the_noise_is_as_large_as_it_should_be_in_every_part_of_a_long_vector() -> None:
    """Chi-square of the variance in parts of stretches, and of those beside them; 1e-7 each."""
    length, deviation = 4 * _STRETCH + 1, 0.7
    noise = noised(np.zeros(length, dtype=np.float32), deviation, SecureRandomness())
    assert np.abs(noise).max() < (REACH + 0.1) * deviation
    for part in np.array_split(noise, 11):
        low, high = stats.chi2.ppf([5e-8, 1 - 5e-8], part.size)
        assert low < float(np.square(part, dtype=np.float64).sum()) / deviation**2 < high
    stretches = noise[: 4 * _STRETCH].reshape(4, _STRETCH)
    assert np.abs(np.corrcoef(stretches) - np.eye(4)).max() < 0.05


def test_a_vector_stays_as_it_was_and_what_is_no_number_stays_none() -> None:
    vector = np.array([1.0, math.nan, math.inf, -math.inf])
    released = noised(vector, 1.0, SecureRandomness())
    assert math.isnan(released[1])
    assert released[2:].tolist() == [math.inf, -math.inf]
    assert vector[0] == 1.0
    assert noised(np.zeros(0), 1.0, SecureRandomness()).size == 0


def test_an_entry_is_rounded_before_the_noise_is_added_and_not_with_it() -> None:
    """Entries halfway between two steps go to the even one, whatever the noise; here one step decides the release."""
    half_a_point = 2**25  # in steps, where the deviation is 1
    entries, noise = np.array([1.5, 3.5, -2.5]) / STEPS, half_a_point + np.array([-1, -3, 3])
    released = np.empty(3)
    _release(entries, noise.astype(np.float64), 1.0, np.empty(3), released)
    assert (released == grid_of(1.0)).all()  # from half a point and one step
