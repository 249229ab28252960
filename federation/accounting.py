"""What a release costs.

What happened is a frozen event; how it is counted is its Renyi curve, from dp-accounting. Curves of different events
add at equal orders, so one composition spans both phases. The neighbouring relation is add/remove of one unit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import dp_accounting
import numpy as np
from absl import logging as absl_logging
from dp_accounting import rdp
from numpy.typing import NDArray
from scipy import optimize

from federation.errors import ConfigError, UncountableEvent

# Renyi orders whose series does not converge are left out, which can only raise epsilon. A warning each time says so.
absl_logging.set_verbosity(absl_logging.ERROR)

ORDERS = (*(1.0 + tenth / 10.0 for tenth in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
"""Renyi orders: dp-accounting's own, so that numbers agree with those that others print."""

MEANINGLESS_EPSILON = 20.0
"""Above this, e^epsilon exceeds 4e8: reports say "no meaningful guarantee", not a number to be trusted."""


@dataclass(frozen=True)
class GaussianRelease:
    """One vector of L2 sensitivity 1, released once with noise of this standard deviation."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _require_noise(self, self.noise_multiplier)


@dataclass(frozen=True)
class SampledGaussianSteps:
    """Steps on Poisson samples: each unit joins with `sampling_rate`, its gradient is clipped, the sum is noised."""

    sampling_rate: float
    noise_multiplier: float
    steps: int

    def __post_init__(self) -> None:
        _require_noise(self, self.noise_multiplier)
        if not (0 < self.sampling_rate <= 1 and isinstance(self.steps, int) and self.steps > 0):
            raise UncountableEvent(f"{self} cannot be counted: a rate lies in (0, 1], and steps are at least one")


def _require_noise(event: object, noise_multiplier: float) -> None:
    if not 0 < noise_multiplier < math.inf:  # NaN fails this too
        raise UncountableEvent(
            f"{event} has no finite epsilon; set a finite noise multiplier above 0, or switch privacy off by name "
            "(privacy: {kind: none})"
        )


Event = GaussianRelease | SampledGaussianSteps


class Accountant:
    """The Renyi curve of everything added so far."""

    def __init__(self) -> None:
        self._curve = np.zeros(len(ORDERS))

    def add(self, event: Event) -> None:
        """Compose with one more event."""
        match event:
            case GaussianRelease(noise_multiplier=noise):
                self._curve = self._curve + _curve_of_one_step(1.0, noise)
            case SampledGaussianSteps(sampling_rate=rate, noise_multiplier=noise, steps=steps):
                self._curve = self._curve + steps * _curve_of_one_step(rate, noise)

    def epsilon(self, delta: float) -> float:
        """Epsilon of all of it, at this delta."""
        return float(rdp.compute_epsilon(ORDERS, self._curve, delta)[0]) if self._curve.any() else 0.0


class _CurveReader(rdp.RdpAccountant):  # type: ignore[misc]  # dp-accounting is untyped
    """dp-accounting keeps the curve to itself and its subclasses."""

    def curve(self) -> NDArray[np.float64]:
        return np.asarray(self._rdp, dtype=np.float64)


@lru_cache(maxsize=256)
def _curve_of_one_step(sampling_rate: float, noise_multiplier: float) -> NDArray[np.float64]:
    """Cached, because a training run charges the same step thousands of times and a curve takes up to a second."""
    reader = _CurveReader(ORDERS)
    gaussian = dp_accounting.GaussianDpEvent(noise_multiplier)
    reader.compose(gaussian if sampling_rate == 1.0 else dp_accounting.PoissonSampledDpEvent(sampling_rate, gaussian))
    return reader.curve()


def epsilon_of(events: Sequence[Event], delta: float) -> float:
    """Epsilon of all events together, at this delta."""
    accountant = Accountant()
    for event in events:
        accountant.add(event)
    return accountant.epsilon(delta)


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
                f"no noise reaches epsilon {epsilon:g} at delta {delta:g} for these steps; "
                "raise epsilon, or take fewer steps, smaller batches or a cheaper warm start"
            )
    while low == high or excess(low) <= 0:
        low -= math.log(4.0)
        if low < math.log(1e-3):
            return math.exp(low)
    noise = math.exp(optimize.brentq(excess, low, high, xtol=2e-4))
    while epsilon_of(events_at(noise), delta) > epsilon:
        noise *= 1.0005
    return noise


def epsilon_text(epsilon: float) -> str:
    """Epsilon for people: two decimals, two digits where it is small, always rounded up, so that none is too good."""
    places = 2 if epsilon >= 0.1 or epsilon <= 0 else 1 - math.floor(math.log10(epsilon))
    return f"{math.ceil(epsilon * 10**places - 1e-9) / 10**places:.{places}f}"
