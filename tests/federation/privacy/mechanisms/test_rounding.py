"""Stochastic rounding: its mean, the bound on the norm, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.mechanisms.rounding import BETA, round_freely, round_within, rounded_norm
from siloseal.federation.randomness import SecureRandomness, SeededRandomness

from .recorded import rows


@pytest.mark.parametrize("row", rows("ddg.rounded_l2_norm_bound"), ids=lambda row: str(row["inputs"]))
def test_the_bound_on_the_norm_equals_the_recorded_one(row: dict[str, dict[str, float]]) -> None:
    inputs = row["inputs"]
    bound = rounded_norm(inputs["scaled_l2"], int(inputs["dim"]))
    assert bound == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])
    assert inputs["beta"] == pytest.approx(BETA, rel=1e-15)


@pytest.mark.parametrize(("norm", "length", "longest"), [(100.0, 1024, 132.0), (0.0, 16, 4.0), (3.0, 1, 4.0)])
def test_the_bound_on_the_norm_is_no_longer_than_any_rounding(norm: float, length: int, longest: float) -> None:
    assert rounded_norm(norm, length) <= longest


def test_rounding_goes_to_one_of_the_two_neighbours() -> None:
    vector = np.random.default_rng(1).normal(scale=50, size=10_000)
    rounded = round_freely(vector, SecureRandomness())
    assert np.all((rounded == np.floor(vector)) | (rounded == np.ceil(vector)))


def test_integers_stay_as_they_are() -> None:
    vector = np.arange(-500.0, 500.0)
    np.testing.assert_array_equal(round_freely(vector, SecureRandomness()), vector)


@pytest.mark.parametrize("fraction", [0.0625, 0.3, 0.5, 0.93])
def test_free_rounding_keeps_the_mean(fraction: float) -> None:
    """Five and a half deviations on either side of zero: by chance once in ten million runs."""
    for whole in (-7, 0, 1000):
        rounded = round_freely(np.full(200_000, whole + fraction), SecureRandomness())
        error = np.sqrt(fraction * (1 - fraction) / rounded.size)
        assert abs(rounded.mean() - (whole + fraction)) < 5.5 * error


def test_bounded_rounding_keeps_the_mean_of_every_entry() -> None:
    """The largest of 256 z-values beyond 6: by chance once in a million runs.

    A vector at the norm itself is rejected most often, so that a bias of the rejection would show here first.
    """
    vector = np.random.default_rng(2).normal(size=256)
    vector *= 10.0 / np.linalg.norm(vector)
    runs = np.array([round_within(vector, 10.0, SecureRandomness()) for _ in range(4000)])
    fraction = vector - np.floor(vector)
    z = (runs.mean(axis=0) - vector) / np.sqrt(fraction * (1 - fraction) / len(runs))
    assert np.abs(z).max() < 6
    assert np.sum(z**2) < stats.chi2.isf(1e-7, 256)


@pytest.mark.parametrize(("norm", "length"), [(0.5, 4), (3.0, 64), (1000.0, 512), (10.0, 4096), (1.0, 1), (0.01, 1024)])
@pytest.mark.parametrize("kind", ["spread", "sparse", "halves"])
def test_the_norm_is_always_within_the_bound(norm: float, length: int, kind: str) -> None:
    vectors = {
        "spread": np.random.default_rng(3).normal(size=length),
        "sparse": np.eye(1, length)[0],
        "halves": np.ones(length),
    }
    vector = vectors[kind] * norm / np.linalg.norm(vectors[kind]) * (1 - 1e-9)
    most = rounded_norm(norm, length)
    for _ in range(100):
        assert np.linalg.norm(round_within(vector, norm, SecureRandomness())) <= most


@pytest.mark.parametrize(("norm", "length"), [(30.0, 1024), (100.0, 256), (5.0, 4096)])
def test_most_roundings_are_accepted_at_once(norm: float, length: int) -> None:
    """At least 1 - beta of them, as the theorem has it; one in a hundred fails. At 1,500 tries nothing is by chance."""
    vector = np.random.default_rng(4).normal(size=length)
    vector *= norm / np.linalg.norm(vector)
    source, most = SeededRandomness(4), rounded_norm(norm, length)
    accepted = np.mean([np.linalg.norm(round_freely(vector, source)) <= most for _ in range(1500)])
    assert accepted >= 0.9 > 1 - BETA


@pytest.mark.parametrize("longer", [1.5, 3.0, 1e6])
def test_a_vector_that_was_not_clipped_is_refused(longer: float) -> None:
    vector = np.random.default_rng(5).normal(size=1024)
    vector *= longer * 100.0 / np.linalg.norm(vector)
    with pytest.raises(DomainError, match=" 100 steps"):
        round_within(vector, 100.0, SecureRandomness())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(DomainError):
        round_within(np.array([0.5, value]), 100.0, SecureRandomness())


def test_the_refusal_names_no_entry_of_the_vector() -> None:
    with pytest.raises(DomainError) as caught:
        round_within(np.full(64, 123.456), 10.0, SecureRandomness())
    assert "123" not in str(caught.value)
