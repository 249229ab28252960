"""From what a user wants (epsilon, delta, bits, rounds, silos) to a mechanism: the least noise, the finest grid.

Everything is in units of the sensitivity until the end, and every number that silos must agree on is rounded to seven
digits: two machines whose logarithms differ in the last bit still agree.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dp_accounting import get_sigma_gaussian
from scipy import optimize

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import GaussianRelease, PoissonBinomialRelease
from siloseal.federation.privacy.least_noise import smallest_noise_by_renyi
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial, coefficients

MARGIN = 1 - 1e-9
"""Share of epsilon that is used: a ledger adds up release by release, and may round otherwise than a product does."""


@dataclass(frozen=True)
class Demand:
    """The demand that a mechanism must meet."""

    epsilon: float
    delta: float
    releases: int
    """Number of sums that one unit takes part in."""
    silos: int
    """Number of silos that take part in the sum."""
    honest: int
    """Fewest silos whose noise is in the sum: those that must remain, less those that may collude."""
    length: int
    """Number of entries of the vector."""

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1 and self.releases >= 1 and self.length >= 1):
            raise ConfigError(
                f"{self} cannot be met: epsilon is above 0, delta between 0 and 1, and there is at least one release "
                "of at least one entry"
            )
        if not 1 <= self.honest <= self.silos:
            raise ConfigError(
                f"the noise of {self.honest} honest silos of {self.silos} cannot protect anyone; at least one silo "
                "must be left when those that may drop out or collude are taken away: raise silos.fewest, or lower "
                "mechanism.colluding"
            )


def gaussian_multiplier(demand: Demand) -> float:
    """The least noise multiplier of a continuous Gaussian on each of the releases, which together are one Gaussian.

    Exact (Balle and Wang 2018, Theorem 8).
    """
    one = float(get_sigma_gaussian(MARGIN * demand.epsilon, demand.delta))
    return round_up(math.sqrt(demand.releases) * one)


def renyi_gaussian_multiplier(demand: Demand) -> float:
    """The noise multiplier that Renyi accounting asks of a continuous Gaussian on each of the releases.

    Noise on a grid is counted by Renyi curves. So this is what it is compared with, and where a search for it begins.
    """
    return _renyi_gaussian_multiplier(demand.epsilon, demand.delta, demand.releases)


@lru_cache(maxsize=64)
def _renyi_gaussian_multiplier(epsilon: float, delta: float, releases: int) -> float:
    def events(noise: float) -> list[GaussianRelease]:
        return [GaussianRelease(noise)] * releases

    return round_up(smallest_noise_by_renyi(events, epsilon=MARGIN * epsilon, delta=delta))


def calibrated_pbm(demand: Demand, *, bits: int, clip_norm: float) -> PoissonBinomial:
    """The fewest coins that use all of epsilon, and the largest theta with which they stay within it.

    The error depends on trials * theta^2 alone, nearly; so the smaller epsilon is, the fewer coins and bits it takes.
    """
    return PoissonBinomial(clip_norm, *_coins(demand, bits))


@lru_cache(maxsize=64)
def _coins(demand: Demand, bits: int) -> tuple[int, float]:
    """The number of coins, and theta."""
    most = (2**bits - 1) // demand.silos
    if most < 1:
        raise ConfigError(
            f"pbm counts the coins of {demand.silos} silos, which {bits} bits cannot hold; it takes "
            f"{demand.silos.bit_length()} bits"
        )
    entries, most_epsilon = coefficients(demand.length), MARGIN * demand.epsilon

    def epsilon(trials: int, theta: float) -> float:
        event = PoissonBinomialRelease(demand.honest, trials, theta, entries)
        return epsilon_of([event] * demand.releases, demand.delta)

    trials = _first(lambda count: epsilon(count, 0.25) > most_epsilon, most)
    if epsilon(trials, 0.25) <= most_epsilon:  # the bits are too few to use all of epsilon: better than asked
        return trials, 0.25

    def excess(log_theta: float) -> float:
        return math.log(max(epsilon(trials, math.exp(log_theta)), 1e-12) / most_epsilon)

    smallest = math.log(1e-6)
    if excess(smallest) > 0:
        raise ConfigError(
            f"pbm cannot reach epsilon {demand.epsilon:g} over {demand.releases} releases of {demand.length} entries; "
            "raise epsilon, or plan fewer rounds"
        )
    theta = _digits(math.exp(optimize.brentq(excess, smallest, math.log(0.25), xtol=1e-7)), math.floor)
    while epsilon(trials, theta) > most_epsilon:
        theta = _digits(theta * (1 - 1e-6), math.floor)
    return trials, theta


def _first(holds: Callable[[int], bool], most: int) -> int:
    """The first count from 1 to `most` that passes; `most` where there is none."""
    low, high = 0, 1
    while high < most and not holds(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def round_up(value: float) -> float:
    """The number, rounded up to seven digits."""
    return _digits(value, math.ceil)


def _digits(value: float, towards: Callable[[float], int]) -> float:
    """The number's seven digits."""
    places = 6 - math.floor(math.log10(value))
    return float(f"{towards(value * 10.0**places)}e{-places}")
