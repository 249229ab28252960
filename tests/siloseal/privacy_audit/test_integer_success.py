"""The success of the projection against sums over the distributions themselves."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease
from siloseal.privacy_audit.integer_success import projection_success


def test_skellam_noise_is_added_up_from_its_probabilities() -> None:
    """Two counts move by 3: half of the way of their sum is 3, and its noise has variance 2 * 5."""
    noise = np.arange(-80, 81)
    chances = stats.skellam.pmf(noise, 5.0, 5.0)
    right = (chances[noise <= 3].sum() + chances[noise > -3].sum()) / 2
    event = SkellamRelease(variance=5.0, l2=3 * np.sqrt(2), l1=6.0)
    assert projection_success(event, 2) == pytest.approx(right, rel=1e-9)


def test_parts_of_discrete_gaussian_noise_are_added_up_one_by_one() -> None:
    values = np.arange(-60, 61)
    part = np.exp(-(values**2) / (2 * 4.0))
    part /= part.sum()
    total = np.convolve(np.convolve(part, part), part)
    reach = np.arange(-180, 181)
    right = (total[reach <= 1].sum() + total[reach > -1].sum()) / 2
    event = DiscreteGaussianRelease(honest=3, local_variance=4.0, l2=2.0, l1=2.0, coordinates=1)
    assert projection_success(event, 1) == pytest.approx(right, rel=1e-9)


def test_wide_noise_is_as_good_as_normal() -> None:
    event = SkellamRelease(variance=1e8, l2=1e4, l1=1e4)
    assert projection_success(event, 1) == pytest.approx(float(stats.norm.cdf(0.5)), abs=1e-4)
