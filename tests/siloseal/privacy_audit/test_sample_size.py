"""The number of drawn units against its binomial law."""

import numpy as np
import pytest
from scipy import stats

from siloseal.privacy_audit.guesses import ALPHA, LIKELY
from siloseal.privacy_audit.sample_size import SampleSize


def counted(drawn: int, *, units: int, rate: float) -> SampleSize:
    size = SampleSize(rate)
    for step in np.array_split(np.arange(units) < drawn, 7):
        size.add(int(step.sum()), units=len(step))
    return size


@pytest.mark.parametrize(("drawn", "units", "rate"), [(30, 500, 0.05), (2, 10, 0.3), (0, 10, 0.3), (10, 10, 0.3)])
def test_the_p_value_is_the_tail_of_a_binomial_law(drawn: int, units: int, rate: float) -> None:
    tail = sum(stats.binom.pmf(count, units, rate) for count in range(drawn, units + 1))
    found = counted(drawn, units=units, rate=rate)
    assert found.p_value == pytest.approx(tail)
    assert found.share == drawn / units


def test_samples_of_everyone_are_found_as_soon_as_so_many_would_not_come_by_chance() -> None:
    """At a rate of 0.05, five units are drawn together once in 3e6 times, and four once in 2e5."""
    assert [counted(units, units=units, rate=0.05).smallest_found(ALPHA) is None for units in (4, 5)] == [True, False]
    assert [counted(units, units=units, rate=0.05).p_value < ALPHA for units in (4, 5)] == [False, True]


@pytest.mark.parametrize("units", [400, 40_000])
def test_the_rate_that_is_said_to_be_found_is_found_nine_times_in_ten(units: int) -> None:
    """Of 4,000 audits with that rate; five deviations are 0.024."""
    booked, level = 0.05, ALPHA / 4
    smallest = SampleSize(booked, units=units).smallest_found(level)
    assert smallest is not None
    drawn = np.random.default_rng(1).binomial(units, smallest, 4000)
    found = np.mean([SampleSize(booked, int(count), units).p_value < level for count in drawn])
    assert abs(found - LIKELY) < 0.024 + 0.01  # counts are whole numbers
