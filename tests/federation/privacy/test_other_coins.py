"""Laws that stand for all numbers of coins at the upper end: few, symmetric, log-concave, and nearly as spread."""

import numpy as np
import pytest

from siloseal.federation.privacy.other_coins import laws_of_others

SETTINGS = [(0, 0.1), (1, 0.25), (7, 0.25), (60, 0.1), (990, 0.08), (3960, 0.04), (20_000, 0.01)]
"""Coins and theta."""


@pytest.mark.parametrize(("coins", "theta"), SETTINGS)
@pytest.mark.parametrize("log_eta", [-30.0, -290.0])
def test_the_laws_are_of_nearly_all_coins(coins: int, theta: float, log_eta: float) -> None:
    laws = laws_of_others(coins, theta, log_eta)
    assert 1 <= len(laws) <= 75
    for law in laws:
        heads = np.arange(len(law))
        mean = law @ heads
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        variance = law @ (heads - mean) ** 2
        assert 0.98 * coins * (0.25 - theta**2) - 1 <= variance <= coins / 4 + 1e-6


@pytest.mark.parametrize(("coins", "theta"), SETTINGS)
def test_they_are_log_concave_and_mirror_one_another(coins: int, theta: float) -> None:
    laws = laws_of_others(coins, theta, -40.0)
    for law in laws:
        steps = np.diff(np.log(law))
        assert np.all(np.diff(steps) <= 1e-9)
    for law, mirrored in zip(laws, reversed(laws), strict=True):
        np.testing.assert_allclose(law, mirrored[::-1], rtol=1e-9)


def test_few_coins_have_a_law_for_each_number_at_the_upper_end() -> None:
    laws = laws_of_others(3, 0.2, -40.0)
    means = sorted(float(law @ np.arange(4)) for law in laws)
    assert means == pytest.approx([3 * 0.3, 2 * 0.3 + 0.7, 0.3 + 2 * 0.7, 3 * 0.7])
