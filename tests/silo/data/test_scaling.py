"""Declared bounds become 0 and 1."""

import math

import numpy as np
import pytest

from siloseal.silo.data.scaling import scaled


def test_a_range_becomes_0_to_1_and_what_lies_beyond_counts_as_its_bound() -> None:
    found = scaled(np.array([-5.0, 0.0, 25.0, 50.0, 1e300]), (0.0, 50.0))
    assert found.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]


def test_a_logarithmic_range_has_its_geometric_mean_in_the_middle() -> None:
    found = scaled(np.array([-1.0, 0.1, 1.0, 10.0]), (0.1, 10.0), log=True)
    assert found == pytest.approx([0.0, 0.0, 0.5, 1.0])


def test_a_missing_number_stays_missing() -> None:
    assert np.isnan(scaled(np.array([math.nan]), (0.0, 1.0))).all()
