"""The three kinds of integer noise that silos share: each adds a part, and the total of the honest ones protects all.

Variances are in steps of the grid, of one silo. What a release costs follows from how far one unit moves the integers.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from siloseal.federation import exact_noise
from siloseal.federation.privacy.events import BinomialRelease, DiscreteGaussianRelease, Event, SkellamRelease


@dataclass(frozen=True)
class Move:
    """How far one unit moves a vector of integers, in three norms, and how long the vector is."""

    l2: float
    l1: float
    linf: float
    coordinates: int

    @classmethod
    def within(cls, l2: float, coordinates: int) -> "Move":
        """Any move of integers of this L2 norm: an integer is at most its own square."""
        return cls(l2, l2 * min(math.sqrt(coordinates), l2), l2, coordinates)


class IntegerNoise(Protocol):
    """One silo's part of the noise."""

    @property
    def name(self) -> str:
        """Kind and parameters: part of the session's digest."""

    @property
    def variance(self) -> float:
        """The variance of one silo's part."""

    @property
    def sampler(self) -> exact_noise.TableSampler:
        """The sampler that draws one silo's part, entry by entry."""

    def event(self, move: Move, honest: int) -> Event:
        """The cost of a release that holds the noise of `honest` silos."""


@dataclass(frozen=True)
class DiscreteGaussian:
    """Discrete Gaussian noise (Kairouz, Liu and Steinke 2021)."""

    variance: float

    @property
    def name(self) -> str:
        return f"discrete_gaussian(variance={self.variance!r})"

    @property
    def sampler(self) -> exact_noise.TableSampler:
        return exact_noise.discrete_gaussian(self.variance)

    def event(self, move: Move, honest: int) -> Event:
        return DiscreteGaussianRelease(honest, self.variance, move.l2, move.l1, move.coordinates)


@dataclass(frozen=True)
class Skellam:
    """Skellam noise (Agarwal, Kairouz and Liu 2021): its sums are Skellam again, so drop-outs are simple to count."""

    variance: float

    @property
    def name(self) -> str:
        return f"skellam(variance={self.variance!r})"

    @property
    def sampler(self) -> exact_noise.TableSampler:
        return exact_noise.skellam(self.variance)

    def event(self, move: Move, honest: int) -> Event:
        return SkellamRelease(honest * self.variance, move.l2, move.l1)


@dataclass(frozen=True)
class Binomial:
    """Binomial noise (Agarwal et al. 2018, cpSGD), a baseline: fair coins, counted by (epsilon, delta)."""

    trials: int
    delta: float
    """Delta at which each release is counted."""

    @property
    def name(self) -> str:
        return f"binomial(trials={self.trials}, delta={self.delta!r})"

    @property
    def variance(self) -> float:
        return self.trials / 4

    @property
    def sampler(self) -> exact_noise.TableSampler:
        return exact_noise.centred_binomial(self.trials)

    def event(self, move: Move, honest: int) -> Event:
        return BinomialRelease(honest * self.trials, move.l2, move.l1, move.linf, move.coordinates, self.delta)
