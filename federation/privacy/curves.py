"""Renyi curves that dp-accounting lacks, and the (epsilon, delta) theorem of the binomial mechanism.

Pure functions of numbers. `l2` and `l1` bound how far one unit moves the vector of integers that is noised.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from dp_accounting import get_epsilon_gaussian
from numpy.typing import NDArray
from scipy import special

Curve = NDArray[np.float64]


def discrete_gaussian_curve(
    orders: Sequence[float], *, honest: int, local_variance: float, l2: float, l1: float, coordinates: int
) -> Curve:
    """The Renyi curve of a sum of discrete Gaussians (Kairouz, Liu and Steinke 2021, Proposition 14).

    A sum of discrete Gaussians is not one: tau bounds how far it is off, and vanishes for noise of a few grid steps.
    """
    tau = closeness(honest, local_variance)
    deviation = math.sqrt(honest * local_variance)
    shift2, shift1 = l2 / deviation, l1 / deviation
    alpha = np.asarray(orders, dtype=np.float64)
    bounds = np.array(
        [
            alpha / 2 * shift2**2 + tau * coordinates,
            alpha / 2 * (shift2**2 + 2 * shift1 * tau + tau**2 * coordinates),
            alpha / 2 * (shift2 + tau * math.sqrt(coordinates)) ** 2,
        ]
    )
    return np.asarray(bounds.min(axis=0), dtype=np.float64)


def closeness(silos: int, local_variance: float) -> float:
    """Tau: how far the sum of this many discrete Gaussians is from one."""
    k = np.arange(1, silos)
    return 10 * float(np.sum(np.exp(-2 * math.pi**2 * local_variance * k / (k + 1))))


def skellam_curve(orders: Sequence[float], *, variance: float, l2: float, l1: float) -> Curve:
    """The Renyi curve of Skellam noise (Agarwal, Kairouz and Liu 2021). The theorem is for integer orders."""

    def at(alpha: NDArray[np.int64]) -> Curve:
        correction = np.minimum(((2 * alpha - 1) * l2**2 + 6 * l1) / (4 * variance**2), 3 * l1 / (2 * variance))
        return np.asarray(alpha * l2**2 / (2 * variance) + correction, dtype=np.float64)

    return between_integers(orders, at)


def between_integers(orders: Sequence[float], at: Callable[[NDArray[np.int64]], Curve]) -> Curve:
    """A curve that is known at integer orders from 2 on, at all orders above 1.

    (alpha - 1) times the curve is convex in alpha and 0 at 1, so a straight line between two integers lies above it.
    """
    alpha = np.asarray(orders, dtype=np.float64)
    low, high = np.floor(alpha).astype(np.int64), np.ceil(alpha).astype(np.int64)
    below = np.where(low < 2, 0.0, (low - 1) * at(np.maximum(low, 2)))
    above = (high - 1) * at(high)
    part = alpha - low
    return np.asarray(((1 - part) * below + part * above) / (alpha - 1), dtype=np.float64)


def binomial_epsilon(*, trials: int, l2: float, l1: float, linf: float, coordinates: int, delta: float) -> float:
    """Epsilon of fair coins as noise (Agarwal et al. 2018, Theorem 1); with integers as units, the step is 1.

    The theorem's condition on the variance is checked where the event is made. Its first term is the classical bound of
    the Gaussian mechanism, which is proven up to 1 and fails from about 12 on; there the exact one takes its place.
    """
    variance = trials / 4
    b, c, d = 1 / 3, math.sqrt(2) * 7 / 4, 2 / 3  # the theorem's constants for coins of chance 1/2
    gaussian = l2 * math.sqrt(2 * math.log(1.25 / delta) / variance)
    if gaussian > 1 and _gaussian_delta(math.sqrt(variance) / l2, gaussian) > delta:
        gaussian = float(get_epsilon_gaussian(math.sqrt(variance) / l2, delta))
    skew = (l2 * c * math.sqrt(math.log(10 / delta)) + l1 * b) / (variance * (1 - delta / 10))
    tail = math.log(1.25 / delta) * 2 / 3 + d * math.log(20 * coordinates / delta) * math.log(10 / delta)
    return gaussian + skew + linf * tail / variance


def _gaussian_delta(multiplier: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise (Balle and Wang 2018, Theorem 8)."""
    far, near = -0.5 / multiplier - epsilon * multiplier, 0.5 / multiplier - epsilon * multiplier
    return float(special.ndtr(near) - np.exp(epsilon + special.log_ndtr(far)))
