"""Continuous Gaussian noise at the two ends of trust: each silo alone, or an aggregator that everyone trusts."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event, GaussianRelease
from siloseal.federation.privacy.mechanisms.clipping import clip
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain, Session, Vector

GRID_BITS = 12  # of the noise are kept below its deviation; the sampler has twice as many


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
        """The outer domain with ten standard deviations of head room: the sampler's tail ends at 9.4."""
        return RealDomain(outer.length, outer.bound + 10.0 * self._deviation)

    def grid(self, outer: RealDomain) -> float:
        """The grid of the noise, the same for every domain."""
        return _grid(self._deviation)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The vector plus noise from the silo's own randomness, rounded to a grid far coarser than its floats."""
        clipped = clip(vector, self.sensitivity) if self.whole else vector
        return _noised(clipped, self._deviation, randomness)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total as it is: there is nothing to undo."""
        return total

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost, the same for any number of honest contributors: a silo relies on its own noise only."""
        return GaussianRelease(self.noise_multiplier)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of the noise on each entry of a total."""
        return self._deviation * math.sqrt(contributors)

    @property
    def _deviation(self) -> float:
        return self.sensitivity * self.noise_multiplier


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
        return _grid(self._deviation)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The vector, clipped if it is the unit."""
        return vector if self.clip_norm is None else clip(vector, self.clip_norm)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total, noised by the aggregator: nothing else may leave it."""
        exact = np.asarray(total.total, dtype=np.float64)
        return Sum(_noised(exact, self._deviation, randomness), total.contributors, total.error_bound)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of what leaves the aggregator."""
        return GaussianRelease(self.noise_multiplier)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of the noise on each entry of a total."""
        return self._deviation

    @property
    def _deviation(self) -> float:
        return self.sensitivity * self.noise_multiplier


def _noised(vector: NDArray[np.float64], deviation: float, randomness: Randomness) -> NDArray[np.float64]:
    """The vector plus noise, on a grid.

    The last bits of a floating-point sum tell which numbers were added (Mironov 2012): without rounding, entries that
    no unit touches would be bare noise, and visibly so. Rounding hides that; it does not prove it away.
    """
    noised = vector + deviation * randomness.normals(vector.size).astype(np.float64)
    return np.asarray(np.rint(noised / _grid(deviation)) * _grid(deviation), dtype=np.float64)


def _grid(deviation: float) -> float:
    """A power of two, `GRID_BITS` below the noise."""
    return float(2.0 ** (math.floor(math.log2(deviation)) - GRID_BITS))
