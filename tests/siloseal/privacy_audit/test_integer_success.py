"""The success of the projection against sums over the distributions themselves."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease
from siloseal.privacy_audit.booked_noise import IntegerRelease
from siloseal.privacy_audit.integer_success import counts_success, wide_success
from siloseal.privacy_audit.success import largest_success


def test_skellam_noise_is_added_up_from_its_probabilities() -> None:
    """Two counts move by 3: half of the way of their sum is 3, and its noise has variance 2 * 5."""
    noise = np.arange(-80, 81)
    chances = stats.skellam.pmf(noise, 5.0, 5.0)
    right = (chances[noise <= 3].sum() + chances[noise > -3].sum()) / 2
    event = SkellamRelease(variance=5.0, l2=3 * np.sqrt(2), l1=6.0)
    assert counts_success(event, np.array([3.0, 0.0, -3.0])) == pytest.approx(right, rel=1e-9)


def test_parts_of_discrete_gaussian_noise_are_added_up_one_by_one() -> None:
    values = np.arange(-60, 61)
    part = np.exp(-(values**2) / (2 * 4.0))
    part /= part.sum()
    total = np.convolve(np.convolve(part, part), part)
    reach = np.arange(-180, 181)
    right = (total[reach <= 1].sum() + total[reach > -1].sum()) / 2
    event = DiscreteGaussianRelease(honest=3, local_variance=4.0, l2=2.0, l1=2.0, coordinates=1)
    assert counts_success(event, np.array([2.0])) == pytest.approx(right, rel=1e-9)


def test_counts_that_move_by_different_amounts_are_added_up_over_all_values_of_their_noise() -> None:
    """A mean's three counts, one of which stays; the noise of the others is enumerated."""
    reach = np.arange(-40, 41)
    chances = stats.skellam.pmf(reach, 1.0, 1.0)
    sums, both = 3 * reach[:, None] + reach, np.outer(chances, chances)
    right = (both[sums <= 5].sum() + both[sums > -5].sum()) / 2
    event = SkellamRelease(variance=2.0, l2=np.sqrt(10), l1=4.0)
    assert counts_success(event, np.array([3.0, 1.0, 0.0])) == pytest.approx(right, rel=1e-9)


def test_a_unit_that_moves_less_far_than_is_booked_is_given_the_booked_way() -> None:
    event = SkellamRelease(variance=5.0, l2=3.0, l1=3.0)
    assert counts_success(event, np.array([2.0])) >= counts_success(event, np.array([3.0]))


def test_noise_that_is_too_wide_to_be_added_up_is_nearly_normal() -> None:
    event = SkellamRelease(variance=1e12, l2=1e6, l1=1e6)
    assert counts_success(event, np.array([1.0])) == pytest.approx(float(stats.norm.cdf(0.5)), abs=2e-5)


@pytest.mark.parametrize(("honest", "local_variance"), [(1, 2.0**18), (1, 2.0**32), (100, 2.0**32)])
def test_the_bound_for_wide_noise_is_what_its_derivation_adds_to_the_normals(
    honest: int, local_variance: float
) -> None:
    """A normal of deviation 1.5 is below 4.3 times that but for a tail, and moves the threshold by as much."""
    deviation = (honest * local_variance) ** 0.5
    event = DiscreteGaussianRelease(honest, local_variance, deviation, deviation, 1)
    derived = float(stats.norm.cdf(0.5 + 4.3 * 1.5 / deviation) + stats.norm.sf(4.3))
    assert derived <= wide_success(event) <= derived + 1 / deviation + 1e-5


@pytest.mark.parametrize(
    "event",
    [
        SkellamRelease(400.0, 10.0, 10.0),
        DiscreteGaussianRelease(1, 400.0, 10.0, 10.0, 1),
        SkellamRelease(4.0, 2.0, 2.0),
    ],
    ids=str,
)
def test_the_bound_for_rotated_vectors_is_above_the_success_in_the_plainest_direction(event: IntegerRelease) -> None:
    """Along one entry integer noise is farthest from normal noise."""
    along = counts_success(event, np.array([event.l2]))
    assert along <= wide_success(event) <= largest_success(event)
