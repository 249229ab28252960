"""kappa covers every input that is tried, and no input that is far below it would do."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from siloseal.federation.privacy.poisson_binomial import divergences
from siloseal.federation.privacy.poisson_binomial_l2 import SMALLEST, kappa, norm_curve

ORDERS = [1.1, 1.5, 2, 3.3, 4, 8, 16, 50]
SMALL = [(1, 1, 0.25), (1, 5, 0.2), (2, 1, 0.25), (2, 4, 0.1), (3, 3, 0.25), (5, 4, 0.1), (6, 10, 0.15), (4, 1, 0.01)]
"""Silos, trials, theta."""
MOVES = (0.02, 0.021, 0.1, 0.37, 0.6, 0.83, 0.97, 1.0)


def law(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.ones(1)
    for chance in chances:
        total = np.convolve(total, [1 - chance, chance])
    return total


def cost(others: NDArray[np.float64], trials: int, theta: float, s: float) -> NDArray[np.float64]:
    """The larger of both directions' divergences, over s^2."""
    laws = np.array([np.convolve(law(np.full(trials, 0.5 + theta * x)), others) for x in (s, 0.0)])
    there, zeros = np.log(laws[:, laws.min(axis=0) > 0])  # far tails of a thousand coins underflow
    return np.maximum(divergences(ORDERS, there, zeros), divergences(ORDERS, zeros, there)) / s**2


def at_the_ends(coins: int, theta: float, upper: int) -> NDArray[np.float64]:
    return law(np.where(np.arange(coins) < upper, 0.5 + theta, 0.5 - theta))


@pytest.mark.parametrize(("silos", "trials", "theta"), SMALL)
def test_kappa_is_above_every_input_and_close_to_the_worst(silos: int, trials: int, theta: float) -> None:
    """All corners of the others' chances, with moves both ways, and random chances. Measured gap: up to 6 % at orders
    up to 8, and 25 % at the highest one."""
    coins, drawn, worst = (silos - 1) * trials, np.random.default_rng(silos), np.zeros(len(ORDERS))
    bound = kappa(ORDERS, silos=silos, trials=trials, theta=theta)
    for s in MOVES:
        for upper in range(coins + 1):
            for sign in (1, -1):
                worst = np.maximum(worst, cost(at_the_ends(coins, theta, upper), trials, theta, sign * s))
        for _ in range(4):
            others = law(drawn.uniform(0.5 - theta, 0.5 + theta, size=coins))
            worst = np.maximum(worst, cost(others, trials, theta, s))
    assert np.all(worst <= bound)
    assert np.all(bound[:6] < 1.08 * worst[:6])
    assert np.all(bound < 1.3 * worst)


@pytest.mark.parametrize(("silos", "trials", "theta"), [(100, 10, 0.08), (40, 25, 0.05), (400, 1, 0.15)])
def test_kappa_of_many_silos_is_that_of_a_gaussian_but_for_a_few_hundredths(
    silos: int, trials: int, theta: float
) -> None:
    """Against the corners k = 0, a quarter, half, all but one and all; and against alpha / 2 over the variance."""
    coins = (silos - 1) * trials
    bound = kappa(ORDERS, silos=silos, trials=trials, theta=theta)
    worst = np.max(
        [
            cost(at_the_ends(coins, theta, upper), trials, theta, s)
            for upper in (0, coins // 4, coins // 2, coins - 1, coins)
            for s in (0.1, 0.5, 1.0, -0.1, -1.0)
        ],
        axis=0,
    )
    gaussian = np.array(ORDERS) / 2 * (trials * theta) ** 2 / (silos * trials * (0.25 - theta**2))
    assert np.all(worst <= bound)
    assert np.all(bound[:7] < 1.06 * worst[:7])
    np.testing.assert_allclose(bound[:6], gaussian[:6], rtol=0.06)


def test_no_inputs_of_an_optimiser_cost_more() -> None:
    """It may set each coin of two other silos and the move, from several starts."""
    trials, theta = 2, 0.25
    bound = kappa(ORDERS, silos=3, trials=trials, theta=theta)

    def share(inputs: NDArray[np.float64]) -> float:
        others = law(0.5 + theta * np.clip(inputs[:-1], -1, 1))
        s = float(np.clip(abs(inputs[-1]), SMALLEST, 1))
        return -float((cost(others, trials, theta, s) / bound).max())

    for seed in range(6):
        start = np.random.default_rng(seed).uniform(-1, 1, size=5)
        found = optimize.minimize(share, start, method="Nelder-Mead", options={"maxiter": 300})
        assert -1 <= found.fun < -0.8


def test_between_computed_orders_it_is_above_the_exact_curve() -> None:
    orders = np.linspace(1.1, 60, 97)
    fine = kappa(list(orders), silos=2, trials=3, theta=0.2)
    others = at_the_ends(3, 0.2, 0)
    for s in (1.0, -1.0, 0.3):
        there, zeros = (np.log(np.convolve(law(np.full(3, 0.5 + 0.2 * x)), others)) for x in (s, 0.0))
        for one, other in ((there, zeros), (zeros, there)):
            assert np.all(divergences(list(orders), one, other) <= fine * s**2 * (1 + 1e-12))
    assert np.all(np.diff((orders - 1) * fine) > 0)


def test_a_vectors_entries_add_up() -> None:
    """Three entries of two silos, exactly, against the bound by the norm alone."""
    x, trials, theta = np.array([0.9, -0.4, 0.01]), 2, 0.2
    exact = np.zeros(len(ORDERS))
    for entry, upper in zip(x, (0, 1, 2), strict=True):
        exact += cost(at_the_ends(2, theta, upper), trials, theta, entry) * entry**2
    parts = {"silos": 2, "trials": trials, "theta": theta, "coordinates": 3}
    by_norm = norm_curve(ORDERS, **parts, l2=float(np.linalg.norm(x)), moves=1)
    assert np.all(exact <= by_norm)
    assert np.all(by_norm[:6] < 1.15 * exact[:6])


def test_an_exchange_costs_what_the_exact_one_does_at_least() -> None:
    """From x to -x, two silos, other coins at each corner; about four times as much as leaving out."""
    trials, theta = 3, 0.1
    parts = {"silos": 2, "trials": trials, "theta": theta, "l2": 1.0, "coordinates": 1}
    exchange, leaving = (norm_curve(ORDERS[:7], **parts, moves=moves) for moves in (2, 1))
    for upper in range(4):
        one, other = (
            np.log(np.convolve(law(np.full(trials, chance)), at_the_ends(3, theta, upper)))
            for chance in (0.5 + theta, 0.5 - theta)
        )
        assert np.all(divergences(ORDERS[:7], one, other) <= exchange)
    assert np.all(exchange > 3.5 * leaving)
    assert np.all(exchange < 5 * leaving)


def test_moves_below_the_smallest_are_paid_as_the_smallest() -> None:
    one = norm_curve([2.0], silos=5, trials=4, theta=0.1, l2=1.0, coordinates=1, moves=1)
    many = norm_curve([2.0], silos=5, trials=4, theta=0.1, l2=1.0, coordinates=1000, moves=1)
    assert many / one == pytest.approx((1 + 1000 * SMALLEST**2) / (1 + SMALLEST**2), rel=1e-12)


def test_orders_above_the_last_computed_one_cost_everything() -> None:
    assert kappa([1024.0, 1025.0], silos=5, trials=1, theta=0.01)[1] == math.inf
    assert math.isfinite(kappa([1024.0], silos=5, trials=1, theta=0.01)[0])
