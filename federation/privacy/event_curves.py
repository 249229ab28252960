"""The Renyi curve of each event: its Renyi divergence at every order.

It comes from dp-accounting or, where that has none, from `curves.py` and the modules of single mechanisms.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

import dp_accounting
import numpy as np
from absl import logging as absl_logging
from dp_accounting import rdp

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.curves import Curve, discrete_gaussian_curve, skellam_curve
from siloseal.federation.privacy.events import (
    BinomialRelease,
    DiscreteGaussianRelease,
    Event,
    ExchangedGaussianSteps,
    GaussianRelease,
    NoisyBitsRelease,
    PoissonBinomialL2Release,
    PoissonBinomialRelease,
    RandomBitsRelease,
    SampledGaussianSteps,
    SkellamRelease,
)
from siloseal.federation.privacy.poisson_binomial import poisson_binomial_curve
from siloseal.federation.privacy.poisson_binomial_l2 import norm_curve
from siloseal.federation.privacy.random_bits import random_bit_curve

# Renyi orders whose series does not converge are left out, which can only raise epsilon. A warning each time says so.
absl_logging.set_verbosity(absl_logging.ERROR)

ORDERS = (*(1.0 + tenth / 10.0 for tenth in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
"""Renyi orders: dp-accounting's own, so that numbers agree with those that others print."""


def epsilon_of_curve(curve: Curve, delta: float) -> float:
    """Epsilon of what has this curve at `ORDERS`, at this delta."""
    return float(rdp.compute_epsilon(ORDERS, curve, delta)[0]) if curve.any() else 0.0


@lru_cache(maxsize=1024)
def curve_of(event: Event) -> Curve:
    """The curve of one event, cached: a run charges the same step thousands of times, and a curve can take a second."""
    match event:
        case GaussianRelease(noise_multiplier=noise) | RandomBitsRelease(noise_multiplier=noise):
            return np.asarray(ORDERS, dtype=np.float64) / (2 * noise**2)
        case SampledGaussianSteps():
            return _sampled_curve(event, ORDERS)
        case ExchangedGaussianSteps():
            return _exchanged_curve(event, np.asarray(ORDERS, dtype=np.float64))
        case DiscreteGaussianRelease():
            parts = {name: getattr(event, name) for name in ("honest", "local_variance", "l2", "l1", "coordinates")}
            return discrete_gaussian_curve(ORDERS, **parts)
        case SkellamRelease(variance=variance, l2=l2, l1=l1):
            return skellam_curve(ORDERS, variance=variance, l2=l2, l1=l1)
        case PoissonBinomialRelease(honest=honest, trials=trials, theta=theta, coordinates=coordinates):
            return coordinates * poisson_binomial_curve(ORDERS, silos=honest, trials=trials, theta=theta)
        case NoisyBitsRelease(contrast=contrast, cells=cells):
            return cells * random_bit_curve(ORDERS, contrast=contrast)  # each bit has its own coins and flips
        case PoissonBinomialL2Release(honest=honest):
            parts = {name: getattr(event, name) for name in ("trials", "theta", "l2", "coordinates", "moves")}
            return norm_curve(ORDERS, silos=honest, **parts)
        case BinomialRelease():
            raise UncountableEvent(f"{event} has no Renyi curve")
        case _:
            assert_never(event)


def _sampled_curve(event: SampledGaussianSteps | ExchangedGaussianSteps, orders: Sequence[float]) -> Curve:
    """The curve of one step for a unit that comes or goes, at these orders."""
    reader = _CurveReader(orders)
    gaussian = dp_accounting.GaussianDpEvent(event.noise_multiplier)
    reader.compose(dp_accounting.PoissonSampledDpEvent(event.sampling_rate, gaussian))
    return reader.curve()


def _exchanged_curve(event: ExchangedGaussianSteps, orders: Curve) -> Curve:
    """The curve of one step for a unit that is exchanged, by way of the data without it.

    The weak triangle inequality of Renyi divergence (Mironov 2017, Proposition 11, with p = q = 2).
    """
    goes, comes = _sampled_curve(event, (2 * orders).tolist()), _sampled_curve(event, (2 * orders - 1).tolist())
    return (orders - 0.5) / (orders - 1) * goes + comes


class _CurveReader(rdp.RdpAccountant):  # type: ignore[misc]  # dp-accounting is untyped
    """An accountant that shows its curve, which dp-accounting keeps to itself and its subclasses."""

    def curve(self) -> Curve:
        return np.asarray(self._rdp, dtype=np.float64)
