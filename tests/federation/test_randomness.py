"""The two kinds of randomness: distributions, independence, and what repeats."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.randomness import Randomness, SecureRandomness, SeededRandomness

SOURCES = [SecureRandomness(), SeededRandomness(11)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
class TestBothKinds:
    """Each statistical test raises a false alarm once in a million runs."""

    def test_normals_are_standard_normal(self, source: Randomness) -> None:
        draws = source.normals(400_000).astype(np.float64)
        assert stats.kstest(draws, "norm").pvalue > 1e-6
        assert abs(draws.mean()) < 4.9 / np.sqrt(len(draws))
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(draws))
        assert low < np.sum(draws**2) < high

    def test_the_two_halves_of_a_box_muller_pair_are_uncorrelated(self, source: Randomness) -> None:
        draws = source.normals(400_000)
        for first, second in (draws.reshape(2, -1), draws.reshape(2, -1) ** 2):
            assert abs(np.corrcoef(first, second)[0, 1]) < 4.9 / np.sqrt(200_000)

    def test_the_tail_is_there(self, source: Randomness) -> None:
        """4 million draws beyond 4.5 deviations: 27 expected."""
        beyond = int((np.abs(source.normals(4_000_000)) > 4.5).sum())
        low, high = stats.poisson.ppf([5e-7, 1 - 5e-7], 4_000_000 * 2 * stats.norm.sf(4.5))
        assert low <= beyond <= high

    def test_uniforms_are_uniform_in_the_half_open_interval(self, source: Randomness) -> None:
        draws = source.uniforms(200_000)
        assert draws.min() >= 0
        assert draws.max() < 1
        assert stats.kstest(draws, "uniform").pvalue > 1e-6

    @pytest.mark.parametrize("count", [0, 1, 2, 7])
    def test_it_gives_just_as_many_as_asked(self, source: Randomness, count: int) -> None:
        assert len(source.bits(count)) == len(source.uniforms(count)) == len(source.normals(count)) == count


def test_two_calls_never_give_the_same() -> None:
    for source in SOURCES:
        assert source.bits(32) != source.bits(32)


def test_equal_seeds_repeat_and_different_seeds_do_not() -> None:
    first, second, other = SeededRandomness(1), SeededRandomness(1), SeededRandomness(2)
    draws = first.normals(10)
    np.testing.assert_array_equal(draws, second.normals(10))
    assert not np.array_equal(draws, other.normals(10))


def test_production_code_uses_seeded_randomness_only_where_nothing_is_released() -> None:
    """The plan times steps that it throws away; initial models are public. Everything else takes what it is given."""
    root = Path(__file__).parents[2]
    packages = ("federation", "silo", "aggregator", "models", "siloseal", "experiments")
    users = {
        str(file.relative_to(root))
        for package in packages
        for file in (root / package).rglob("*.py")
        if "SeededRandomness(" in file.read_text()
    }
    assert users == {
        "federation/randomness.py",
        "models/building.py",
        "silo/promises/trial.py",
        "siloseal/runs/plan.py",
    }
