"""From what a user wants (epsilon, delta, bits, rounds, silos) to a mechanism: the least noise, the finest grid.

Everything is in units of the sensitivity until the end, and every number that silos must agree on is rounded to seven
digits: two machines whose logarithms differ in the last bit still agree.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dp_accounting import get_sigma_gaussian

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.federation.privacy.least_noise import smallest_noise_by_renyi

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


def round_up(value: float) -> float:
    """The number, rounded up to seven digits."""
    return _digits(value, math.ceil)


def round_down(value: float) -> float:
    """The number, rounded down to seven digits."""
    return _digits(value, math.floor)


def _digits(value: float, towards: Callable[[float], int]) -> float:
    """The number's seven digits."""
    places = 6 - math.floor(math.log10(value))
    return float(f"{towards(value * 10.0**places)}e{-places}")
