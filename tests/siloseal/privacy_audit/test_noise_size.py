"""The measured size of noise."""

import numpy as np
import pytest

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
