"""The sum behind an average: what its total means, how far it may be off, and what all silos must have in common."""

from itertools import product

import numpy as np
import pytest

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.averages.mean import Mean
from siloseal.federation.averages.releases import average_release, mean_in, require_precision, start_of
from siloseal.federation.averages.structure import Structure
from siloseal.federation.errors import DomainError
from siloseal.federation.sums.secure_sum import Sum

JOB = AverageJob.model_validate(
    {"name": "a", "silos": {"names": ["x", "y", "z"]}, "secure_sum": {"kind": "ckks"}, "averages": 5}
)
ONE, OTHER = Structure.of(["'a' of float32 (1,)"], 1), Structure.of(["'b' of float32 (1,)"], 1)
LAST = Mean(0, np.array([1.0], dtype=np.float32), ("x", "y", "z"), 1e-6)


@pytest.mark.parametrize("weights", [3.0, 1e-3, 3e-6])
def test_the_bound_covers_every_error_that_the_sum_may_have(weights: float) -> None:
    error, true = 1e-6, np.array([-60.0, -0.5, 0.0, 1e-9, 64.0])
    for up, down in product((-error, 0.0, error), repeat=2):
        total = np.append(true * weights + up, weights + down)
        found = mean_in(JOB, 0, Sum(total, ("x", "y", "z"), error))
        assert np.abs(found.values - true).max() <= found.error_bound
        assert np.abs(found.values).max() <= JOB.largest_weight


@pytest.mark.parametrize("weights", [0.0, -1.0, 5e-7])
def test_weights_that_drown_in_the_error_of_the_sum_make_no_average(weights: float) -> None:
    with pytest.raises(DomainError):
        mean_in(JOB, 0, Sum(np.array([0.1, weights]), ("x", "y", "z"), 1e-6))


def test_an_average_costs_no_epsilon_and_carries_one_value_more_for_the_weight() -> None:
    release = average_release(JOB, 2, 10)
    assert (release.event, release.mechanism, release.round, release.quorum) == (None, None, 2, 3)
    assert (release.domain.length, release.domain.bound) == (11, JOB.largest_weight)


def test_silos_with_another_round_structure_or_last_average_sign_something_else() -> None:
    moved = Mean(0, np.array([2.0], dtype=np.float32), LAST.contributors, LAST.error_bound)
    fewer = Mean(0, LAST.values, ("x", "y"), LAST.error_bound)
    other_job = JOB.model_copy(update={"averages": 6})
    starts = {
        start_of(JOB, 1, ONE, LAST),
        start_of(JOB, 1, ONE, None),
        start_of(JOB, 2, ONE, LAST),
        start_of(JOB, 1, OTHER, LAST),
        start_of(JOB, 1, ONE, moved),
        start_of(JOB, 1, ONE, fewer),
        start_of(other_job, 1, ONE, LAST),
    }
    assert len(starts) == 7
    assert start_of(JOB, 1, ONE, LAST) == start_of(JOB, 1, ONE, Mean.from_wire(JOB, LAST.to_wire()))


def test_a_weight_must_be_large_enough_to_be_rounded() -> None:
    require_precision(JOB, 100)
    with pytest.raises(DomainError):
        require_precision(JOB, 1)
    require_precision(JOB.model_copy(update={"largest_silo": 1}), 1)
