"""What releases cost together.

What happened is a frozen event (`events.py`); how it is counted is its Renyi curve, from dp-accounting or, where that
has none, from `curves.py`. Curves of different events add at equal orders, so one composition spans both phases. The
neighbouring relation is add/remove of one unit: its contribution is there, or is nothing.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import assert_never

import dp_accounting
import numpy as np
from absl import logging as absl_logging
from dp_accounting import pld, rdp
from numpy.typing import NDArray
from scipy import optimize

from siloseal.federation.errors import ConfigError, UncountableEvent
from siloseal.federation.privacy.curves import binomial_epsilon, discrete_gaussian_curve, skellam_curve
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.events import (
    BinomialRelease,
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    PoissonBinomialL2Release,
    PoissonBinomialRelease,
    RandomBitsRelease,
    SampledGaussianSteps,
    SkellamRelease,
)
from siloseal.federation.privacy.poisson_binomial import poisson_binomial_curve
from siloseal.federation.privacy.poisson_binomial_l2 import norm_curve

# Renyi orders whose series does not converge are left out, which can only raise epsilon. A warning each time says so.
absl_logging.set_verbosity(absl_logging.ERROR)

ORDERS = (*(1.0 + tenth / 10.0 for tenth in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
"""Renyi orders: dp-accounting's own, so that numbers agree with those that others print."""

RENYI, PLD = "Renyi accounting", "privacy loss distributions"

WIDEST_EPSILON = 1000.0
"""Largest epsilon that is sharpened: above it, a privacy loss distribution takes gigabytes for a meaningless number."""


class Accountant:
    """The Renyi curve of everything added so far; and (epsilon, delta) pairs, for events that have no curve."""

    def __init__(self) -> None:
        self._curve = np.zeros(len(ORDERS))
        self._pairs: list[tuple[float, float]] = []

    def add(self, event: Event, times: int = 1) -> None:
        """Compose with one more event, or with `times` equal ones."""
        match event:
            case BinomialRelease():
                self._pairs += [(binomial_epsilon(**asdict(event)), event.delta)] * times
            case SampledGaussianSteps(steps=steps):
                self._curve = self._curve + times * steps * _curve_of_one(replace(event, steps=1))
            case _:
                self._curve = self._curve + times * _curve_of_one(event)

    def epsilon(self, delta: float) -> float:
        """Epsilon of everything added so far, at this delta."""
        if not self._pairs:
            return self._epsilon_of_curve(delta)
        left = delta - sum(own for _, own in self._pairs)
        if left <= 0:
            return math.inf
        pairs = [epsilon for epsilon, _ in self._pairs]
        if not self._curve.any():
            return min(sum(pairs), composed(pairs, left))
        basic = sum(pairs) + self._epsilon_of_curve(left)
        return min(basic, composed(pairs, left / 2) + self._epsilon_of_curve(left / 2))

    def _epsilon_of_curve(self, delta: float) -> float:
        return float(rdp.compute_epsilon(ORDERS, self._curve, delta)[0]) if self._curve.any() else 0.0


def composed(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon of mechanisms of these epsilons together, at a delta besides their own.

    Kairouz, Oh and Viswanath 2015, Theorem 3.5, for any mixture of epsilons.
    """
    drift = sum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    return drift + math.sqrt(2 * math.log(1 / delta) * sum(epsilon**2 for epsilon in epsilons))


class _CurveReader(rdp.RdpAccountant):  # type: ignore[misc]  # dp-accounting is untyped
    """An accountant that shows its curve, which dp-accounting keeps to itself and its subclasses."""

    def curve(self) -> NDArray[np.float64]:
        return np.asarray(self._rdp, dtype=np.float64)


@lru_cache(maxsize=256)
def _curve_of_one(event: Event) -> NDArray[np.float64]:
    """The curve of one event, cached: a run charges the same step thousands of times, and a curve can take a second."""
    match event:
        case GaussianRelease() | SampledGaussianSteps():
            reader = _CurveReader(ORDERS)
            reader.compose(_to_dp_accounting(event))
            return reader.curve()
        case DiscreteGaussianRelease():
            parts = {name: getattr(event, name) for name in ("honest", "local_variance", "l2", "l1", "coordinates")}
            return discrete_gaussian_curve(ORDERS, **parts)
        case SkellamRelease(variance=variance, l2=l2, l1=l1):
            return skellam_curve(ORDERS, variance=variance, l2=l2, l1=l1)
        case PoissonBinomialRelease(honest=honest, trials=trials, theta=theta, coordinates=coordinates):
            return coordinates * poisson_binomial_curve(ORDERS, silos=honest, trials=trials, theta=theta)
        case PoissonBinomialL2Release(honest=honest):
            parts = {name: getattr(event, name) for name in ("trials", "theta", "l2", "coordinates", "moves")}
            return norm_curve(ORDERS, silos=honest, **parts)
        case RandomBitsRelease(noise_multiplier=noise):
            return np.asarray(ORDERS, dtype=np.float64) / (2 * noise**2)
        case BinomialRelease():
            raise UncountableEvent(f"{event} has no Renyi curve")
        case _:
            assert_never(event)


def _to_dp_accounting(event: GaussianRelease | SampledGaussianSteps) -> dp_accounting.DpEvent:
    """One release, or one of the steps, as an event of dp-accounting."""
    gaussian = dp_accounting.GaussianDpEvent(event.noise_multiplier)
    if isinstance(event, GaussianRelease) or event.sampling_rate == 1.0:
        return gaussian
    return dp_accounting.PoissonSampledDpEvent(event.sampling_rate, gaussian)


def epsilon_of(events: Sequence[Event], delta: float) -> float:
    """Epsilon of all events together, at this delta."""
    accountant = Accountant()
    for event, times in Counter(events).items():
        accountant.add(event, times)
    return accountant.epsilon(delta)


def tightest_epsilon(events: Sequence[Event], delta: float) -> tuple[float, str]:
    """Epsilon of all events, and how it was counted: by privacy loss distributions where all events have one.

    Those are tighter than Renyi curves and cost seconds, so a ledger enforces the one and reports may show the other.
    """
    renyi = epsilon_of(events, delta)
    if renyi > WIDEST_EPSILON:
        return renyi, RENYI
    if not events or not all(isinstance(event, GaussianRelease | SampledGaussianSteps) for event in events):
        return renyi, RENYI
    accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
    for event, times in Counter(events).items():
        match event:
            case GaussianRelease():
                accountant.compose(_to_dp_accounting(event), times)
            case SampledGaussianSteps(steps=steps):
                accountant.compose(_to_dp_accounting(event), times * steps)
    exact = float(accountant.get_epsilon(delta))
    return (exact, PLD) if exact < renyi else (renyi, RENYI)


def smallest_noise(events_at: Callable[[float], Sequence[Event]], *, epsilon: float, delta: float) -> float:
    """The least noise multiplier z, to a thousandth, with which `events_at(z)` stay within (epsilon, delta).

    Rounded up, never down. Epsilon falls as the noise grows, nearly as a power of it, so logarithms soon find it.
    """

    def excess(log_noise: float) -> float:
        return math.log(max(epsilon_of(events_at(math.exp(log_noise)), delta), 1e-12) / epsilon)

    low = high = math.log(1.0)
    while excess(high) > 0:
        low, high = high, high + math.log(4.0)
        if high > math.log(1e5):
            raise ConfigError(
                f"no noise reaches epsilon {epsilon:g} at delta {delta_text(delta)} for these steps; "
                "raise epsilon, or release less: fewer steps, rounds or queries, smaller batches, a cheaper warm start"
            )
    while low == high or excess(low) <= 0:
        low -= math.log(4.0)
        if low < math.log(1e-3):
            return math.exp(low)
    noise = math.exp(optimize.brentq(excess, low, high, xtol=2e-4))
    while epsilon_of(events_at(noise), delta) > epsilon:
        noise *= 1.0005
    return noise
