"""The exact Renyi curve of the Poisson-binomial mechanism (Chen, Ozgur and Kairouz 2022), one coordinate of it.

Each of n silos throws m coins of chance 1/2 + theta x, |x| <= 1, and only the number of heads is seen. The divergence
between two neighbouring inputs is quasi-convex in each coin's chance, so it is largest where every chance is extreme:
one silo changes sides, and some of the other coins are at the upper end. Among those the largest is where none is or,
its mirror image, where all are; that was found by computation, and a test computes all for several settings.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats


def poisson_binomial_curve(orders: Sequence[float], *, silos: int, trials: int, theta: float) -> NDArray[np.float64]:
    """Renyi divergence at these orders when one silo's value is replaced by any other."""
    changed, unchanged = heads(silos, trials, theta, upper=1), heads(silos, trials, theta, upper=0)
    return np.maximum(divergences(orders, changed, unchanged), divergences(orders, unchanged, changed))


def heads(silos: int, trials: int, theta: float, *, upper: int) -> NDArray[np.float64]:
    """Logarithms of the chances of 0 .. silos * trials heads when `upper` silos have the larger chance."""
    of_upper, of_lower = upper * trials, (silos - upper) * trials
    high = stats.binom.logpmf(np.arange(of_upper + 1), of_upper, 0.5 + theta)
    low = stats.binom.logpmf(np.arange(of_lower + 1), of_lower, 0.5 - theta)
    short, long = sorted((high, low), key=len)
    total = np.full(len(short) + len(long) - 1, -np.inf)
    for shift, weight in enumerate(short):  # in logarithms: the products would underflow in the tails
        window = total[shift : shift + len(long)]
        np.logaddexp(window, weight + long, out=window)
    return total


def divergences(orders: Sequence[float], one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """D_alpha(one || other) of two distributions that are given by the logarithms of their chances."""
    ratio = one - other
    return np.array([special.logsumexp(other + alpha * ratio) / (alpha - 1) for alpha in orders])
