"""Noise on sums is as large as its mechanism says, and bits that are too few are reported."""

import numpy as np
import pytest

from siloseal.experiments.kinds_of_noise import KINDS, Kind, calibrated, error, random_directions
from siloseal.federation.privacy.mechanisms.calibration import Demand
from siloseal.federation.sums.session import RealDomain

SILOS, LENGTH = 10, 512
DEMAND = Demand(epsilon=5.0, delta=1e-5, releases=1, silos=SILOS, honest=SILOS, length=LENGTH)


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_a_release_is_the_one_that_was_planned(kind: Kind) -> None:
    """The mean of 512 squares varies by 6 %, and 15 % of its root is over four of that: a false alarm in 10^4 runs."""
    mechanism = calibrated(kind, DEMAND, bits=16)
    assert mechanism is not None
    found = error(mechanism, random_directions(SILOS, LENGTH, seed=2))
    assert found == pytest.approx(mechanism.deviation(RealDomain(LENGTH, 1.0), SILOS), rel=0.15)


def test_too_few_bits_give_no_mechanism() -> None:
    assert calibrated("skellam", DEMAND, bits=4) is None


def test_directions_have_norm_one() -> None:
    assert np.linalg.norm(random_directions(3, 7, seed=0), axis=1) == pytest.approx(1.0)
