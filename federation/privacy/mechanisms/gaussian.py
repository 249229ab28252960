"""Gaussian noise at the two ends of trust: each silo alone, or an aggregator that everyone trusts.

The noise is exact on a grid (`gaussian_noise.py`), and costs what the continuous Gaussian mechanism does.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event, GaussianRelease
from siloseal.federation.privacy.mechanisms.clipping import clip
from siloseal.federation.privacy.mechanisms.gaussian_noise import (
    grid_of,
    noise_deviation,
    noised,
    require_little_rounding,
)
from siloseal.federation.privacy.mechanisms.rounded_gaussian import REACH
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain, Session, Vector


@dataclass(frozen=True)
class GaussianAtSilo:
    """Each silo adds all the noise that its own guarantee needs, so it trusts nobody.

    `sensitivity` is how far one unit moves the vector in L2. The sum of n silos carries n times the variance.
    """

    sensitivity: float
    noise_multiplier: float
    whole: bool = False
    """Whether the unit is the silo's whole vector, which is then clipped; else a part of it, such as one example."""
    noised_by: ClassVar[NoisedBy] = NoisedBy.EACH_SILO

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        whole = ", unit=whole" if self.whole else ""
        return f"gaussian_at_silo(sensitivity={self.sensitivity!r}, noise_multiplier={self.noise_multiplier!r}{whole})"

    def domain(self, outer: RealDomain, silos: int) -> RealDomain:
        """The outer domain with head room for the largest noise, and for its rounding to the grid."""
        return RealDomain(outer.length, outer.bound + (REACH + 0.1) * self._deviation)

    def grid(self, outer: RealDomain) -> float:
        """The grid of the noise, the same for every domain."""
        return grid_of(self._deviation)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The vector plus noise from the silo's own randomness, on the grid."""
        clipped = clip(vector, self.sensitivity) if self.whole else vector
        return noised(clipped, self._deviation, randomness)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total as it is: there is nothing to undo."""
        return total

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost, the same for any number of honest contributors: a silo relies on its own noise only."""
        require_little_rounding(self.noise_multiplier, outer.length)
        return GaussianRelease(self.noise_multiplier)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of the noise on each entry of a total."""
        return self._deviation * math.sqrt(contributors)

    @property
    def _deviation(self) -> float:
        return noise_deviation(self.noise_multiplier, self.sensitivity)


@dataclass(frozen=True)
class GaussianAtAggregator:
    """The aggregator adds the noise to the total: the least noise, and everyone must trust it to."""

    clip_norm: float | None
    """Norm that a silo's whole vector is clipped to; None where the unit is a part of it, such as one example."""
    sensitivity: float
    """L2 sensitivity, a little above the clip norm: the sum below rounds entries, which may lengthen a vector."""
    noise_multiplier: float
    noised_by: ClassVar[NoisedBy] = NoisedBy.AGGREGATOR

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        return (
            f"gaussian_at_aggregator(clip_norm={self.clip_norm!r}, sensitivity={self.sensitivity!r}, "
            f"noise_multiplier={self.noise_multiplier!r})"
        )

    def domain(self, outer: RealDomain, silos: int) -> RealDomain:
        """The domain of what silos send, which is clipped and not noised."""
        return outer

    def grid(self, outer: RealDomain) -> float:
        """The grid of the noise; what the silos send is not rounded here."""
        return grid_of(self._deviation)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The vector, clipped if it is the unit."""
        return vector if self.clip_norm is None else clip(vector, self.clip_norm)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total, noised by the aggregator: nothing else may leave it."""
        exact = np.asarray(total.total, dtype=np.float64)
        return Sum(noised(exact, self._deviation, randomness), total.contributors, total.error_bound)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of what leaves the aggregator."""
        require_little_rounding(self.noise_multiplier, outer.length)
        return GaussianRelease(self.noise_multiplier)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of the noise on each entry of a total."""
        return self._deviation

    @property
    def _deviation(self) -> float:
        return noise_deviation(self.noise_multiplier, self.sensitivity)
