"""Moments and probabilities of integer noise against formulas and against the distributions themselves."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease
from siloseal.privacy_audit.booked_noise import (
    IntegerRelease,
    moments,
    parameter,
    part_variance,
    probabilities,
    values_within,
)

EVENTS: tuple[IntegerRelease, ...] = (
    SkellamRelease(1.0, 1.0, 1.0),
    DiscreteGaussianRelease(1, 0.5, 1.0, 1.0, 1),
    DiscreteGaussianRelease(3, 0.7, 1.0, 1.0, 1),
)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_the_moments_are_those_of_the_probabilities(event: IntegerRelease) -> None:
    values = values_within(parameter(event))
    chances = probabilities(event, (1,), values.size)
    variance, fourth = values**2 @ chances, values**4 @ chances
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert moments(event).variance == pytest.approx(variance, rel=1e-9)
    assert moments(event).kurtosis == pytest.approx(fourth / variance**2, rel=1e-9)


def test_a_narrow_discrete_gaussian_has_less_variance_than_it_is_named_for() -> None:
    event = DiscreteGaussianRelease(2, 0.5, 1.0, 1.0, 1)
    assert parameter(event) == 2 * part_variance(event) == 1.0
    assert moments(event).variance == pytest.approx(2 * 0.49898, abs=1e-5)
    assert moments(event).deviation == pytest.approx(np.sqrt(2 * 0.49898), abs=1e-5)


def test_weights_stretch_the_noise_of_their_entries() -> None:
    """Noise times 3 in one entry and times -1 in two: the sum takes the values of 3 a + b + c."""
    reach = np.arange(-60, 61)
    one = stats.skellam.pmf(reach, 1.0, 1.0)
    stretched = np.zeros(361)
    stretched[::3] = one
    by_hand = np.convolve(np.convolve(stretched, one), one)
    found = probabilities(SkellamRelease(2.0, 1.0, 1.0), (3, -1, 1), by_hand.size)
    assert np.abs(found - by_hand).max() < 1e-14
