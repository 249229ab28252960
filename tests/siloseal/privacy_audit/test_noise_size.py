"""The measured size of noise."""

import numpy as np
import pytest
from numpy.typing import NDArray

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease
from siloseal.privacy_audit.booked_noise import IntegerRelease, moments, parameter, probabilities, values_within
from siloseal.privacy_audit.guesses import ALPHA
from siloseal.privacy_audit.noise_size import TOLERANCE, NoiseSize


def measured(share: float, entries: int) -> NoiseSize:
    size = NoiseSize(per_distance=2.0, distance=1.5)
    size.add(share * 3.0 * np.random.default_rng(5).standard_normal(entries))
    return size


def test_noise_of_the_booked_size_is_nothing_to_report() -> None:
    """The generator is seeded, so that this says the same each time."""
    found = measured(1.0, 100_000)
    assert found.share == pytest.approx(1.0, abs=0.01)
    assert found.p_value > 0.01


@pytest.mark.parametrize("kind", [SkellamRelease(1.0, 2.0, 4.0), DiscreteGaussianRelease(2, 0.5, 2.0, 4.0, 1)], ids=str)
@pytest.mark.parametrize("entries", [2, 24, 2000])
def test_narrow_integer_noise_is_called_too_small_no_more_often_than_stated(kind: IntegerRelease, entries: int) -> None:
    """The tail of the sum of squares is added up, not sampled: at each value it is at most the p-value there."""
    squares, tail = squares_of(kind, entries)
    of = moments(kind)
    for total, chance in zip(squares, tail, strict=True):
        size = NoiseSize(of.deviation / 2.0, 2.0, of.kurtosis, squares=float(total), entries=entries)
        assert chance <= size.p_value * (1 + 1e-6) + 1e-12


def squares_of(kind: IntegerRelease, entries: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Some values of the sum of squares of so many entries, and the chance that it is no larger."""
    values = values_within(parameter(kind))
    square = np.zeros(16 * entries + 4096)
    np.add.at(square, (values**2).astype(np.int64), probabilities(kind, (1,), values.size))
    total = np.fft.irfft(np.fft.rfft(square) ** entries, n=square.size)
    chosen = np.unique(np.linspace(0, 2 * entries, 60).astype(np.int64))
    return chosen, np.cumsum(total)[chosen]


def test_noise_that_is_a_tenth_too_small_shows() -> None:
    assert measured(0.9, 10_000).p_value < ALPHA


def test_a_distance_that_is_too_long_shows_like_noise_that_is_too_small() -> None:
    found = measured(1.0, 10_000)
    found.moved(1.5 * 1.2)
    assert found.share == pytest.approx(1 / 1.2, abs=0.01)
    assert found.p_value < ALPHA


def test_more_entries_find_smaller_shortfalls_down_to_the_tolerance() -> None:
    few, many = measured(1.0, 1000), measured(1.0, 100_000)
    assert TOLERANCE < many.smallest_found(ALPHA) < few.smallest_found(ALPHA) < 0.2
    assert NoiseSize(1.0).smallest_found(ALPHA) == 1
