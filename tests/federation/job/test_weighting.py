"""Weighted means as sums."""

import numpy as np
import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain


def test_the_sum_of_weighted_contributions_stands_for_the_weighted_mean() -> None:
    vectors, weights = np.random.default_rng(1).normal(size=(3, 50)), [36_000, 12_000, 4000]
    total = sum(weigh(vector, weight=weight, largest=100_000) for vector, weight in zip(vectors, weights, strict=True))
    np.testing.assert_allclose(mean_of(total), np.average(vectors, axis=0, weights=weights), rtol=1e-12)


def test_weighted_contributions_stay_in_the_domain() -> None:
    domain = weighted_domain(50, bound=4.0)
    domain.check(weigh(np.full(50, -4.0), weight=100, largest=100))
    assert domain.length == 51


def test_weights_that_add_up_to_nothing_are_no_mean() -> None:
    with pytest.raises(DomainError, match="precision_bits"):
        mean_of(np.zeros(4))


@pytest.mark.parametrize("weight", [0, -1, 101])
def test_a_weight_outside_the_agreed_range_is_refused(weight: int) -> None:
    with pytest.raises(DomainError, match="largest_silo"):
        weigh(np.zeros(3), weight=weight, largest=100)
