"""The exact curve of the Poisson-binomial mechanism: recorded values, and the worst case among all inputs."""

import math

import numpy as np
import pytest
from scipy import special

from siloseal.federation.privacy.poisson_binomial import divergences, heads, poisson_binomial_curve

from .mechanisms.recorded import Row, rows

ORDERS = [1.1, 1.5, 2, 4, 8, 16, 64, 256, 1024]

SETTINGS = [
    (1, 1, 0.25),
    (2, 1, 0.25),
    (2, 3, 0.25),
    (3, 1, 0.01),
    (5, 4, 0.1),
    (4, 30, 0.05),
    (20, 2, 0.2),
    (10, 16, 0.25),
]
"""Silos, trials, theta."""


@pytest.mark.parametrize("row", rows("pbm.exact_scalar_rdp_replace_one"), ids=lambda row: str(row["inputs"]))
def test_the_curve_equals_the_recorded_value(row: Row) -> None:
    inputs = row["inputs"]
    curve = poisson_binomial_curve([inputs["alpha"]], silos=inputs["n"], trials=inputs["m"], theta=inputs["theta"])
    assert curve[0] == pytest.approx(row["expected"], rel=row["tolerance"]["rel"])


@pytest.mark.parametrize(("silos", "trials", "theta"), SETTINGS)
def test_the_worst_other_silos_are_all_at_one_end(silos: int, trials: int, theta: float) -> None:
    """One silo changes sides while k of the others are at the upper end: of all k the curve is the maximum."""
    worst = np.zeros(len(ORDERS))
    for k in range(silos):
        changed, unchanged = (heads(silos, trials, theta, upper=upper) for upper in (k + 1, k))
        for one, other in ((changed, unchanged), (unchanged, changed)):
            worst = np.maximum(worst, divergences(ORDERS, one, other))
    curve = poisson_binomial_curve(ORDERS, silos=silos, trials=trials, theta=theta)
    np.testing.assert_allclose(curve, worst, rtol=1e-9)


@pytest.mark.parametrize(("silos", "trials", "theta"), SETTINGS)
def test_no_mixture_of_coins_is_worse(silos: int, trials: int, theta: float) -> None:
    """Divergence is quasi-convex in the chance of each coin, so the corners for single coins bound all inputs.

    Any number of the other silos' coins is at the upper end. Among silos of one coin each that are as many as there
    are coins, these corners are the same sums.
    """
    coins, curve = silos * trials, poisson_binomial_curve(ORDERS, silos=silos, trials=trials, theta=theta)
    for upper in range((silos - 1) * trials + 1):
        changed, unchanged = (heads(coins, 1, theta, upper=count) for count in (upper + trials, upper))
        assert np.all(divergences(ORDERS, changed, unchanged) <= curve * (1 + 1e-9))
        assert np.all(divergences(ORDERS, unchanged, changed) <= curve * (1 + 1e-9))


@pytest.mark.parametrize("change", [(-1.0, 1.0), (-0.3, 1.0), (0.0, 1.0), (-1.0, 0.0), (0.4, -0.6)])
def test_inputs_inside_the_interval_cost_less(change: tuple[float, float]) -> None:
    """Random values of the other silos, and a change to any value: leaving it out, which is zero, is one of them."""
    silos, trials, theta = 5, 4, 0.2
    curve = poisson_binomial_curve(ORDERS, silos=silos, trials=trials, theta=theta)
    for seed in range(20):
        others = np.random.default_rng(seed).uniform(-1, 1, size=silos - 1)
        one, other = (logs_of([*others, value], trials, theta) for value in change)
        assert np.all(divergences(ORDERS, one, other) <= curve * (1 + 1e-9))


def logs_of(values: list[float], trials: int, theta: float) -> np.ndarray:
    total = np.ones(1)
    for value in values:
        for _ in range(trials):
            total = np.convolve(total, [0.5 - theta * value, 0.5 + theta * value])
    return np.log(total)


def test_one_coin_is_randomised_response() -> None:
    curve = poisson_binomial_curve([2.0], silos=1, trials=1, theta=0.25)
    assert curve[0] == pytest.approx(math.log(0.75**2 / 0.25 + 0.25**2 / 0.75), rel=1e-12)


@pytest.mark.parametrize(("silos", "trials", "theta"), [(10, 16, 0.25), (50, 100, 0.1), (3, 2, 0.01)])
def test_heads_are_a_distribution_with_the_right_mean(silos: int, trials: int, theta: float) -> None:
    for upper in (0, 1, silos):
        logs = heads(silos, trials, theta, upper=upper)
        mean = np.exp(logs) @ np.arange(silos * trials + 1)
        assert special.logsumexp(logs) == pytest.approx(0.0, abs=1e-9)
        assert mean == pytest.approx(trials * (silos / 2 + theta * (2 * upper - silos)), rel=1e-9)


def test_the_curve_falls_with_silos_and_grows_with_trials_theta_and_order() -> None:
    def curve(silos: int, trials: int, theta: float) -> np.ndarray:
        return poisson_binomial_curve(ORDERS, silos=silos, trials=trials, theta=theta)

    middle = curve(10, 8, 0.1)
    assert np.all(curve(11, 8, 0.1) < middle)
    assert np.all(curve(10, 9, 0.1) > middle)
    assert np.all(curve(10, 8, 0.11) > middle)
    assert np.all(np.diff(middle) > 0)


def test_small_thetas_cost_what_a_gaussian_costs() -> None:
    """About 8 alpha trials theta^2 / silos."""
    curve = poisson_binomial_curve([2.0, 8.0], silos=100, trials=50, theta=0.001)
    np.testing.assert_allclose(curve, 8 * np.array([2.0, 8.0]) * 50 * 0.001**2 / 100, rtol=0.01)
