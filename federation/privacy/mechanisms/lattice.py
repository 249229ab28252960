"""Distributed noise on real vectors: clip, rotate, scale, round, add integers, reduce modulo 2^bits; and back.

The same path for discrete Gaussian, Skellam and binomial noise, which differ in what they draw and in what it costs.
Totals that wrap around the modulus harm accuracy only: reducing a number tells nothing new about it. That holds where
nobody sees a total before it is reduced. Over a sum that does not reduce on its way, such as CKKS, the number of silos
whose entry wrapped would show, and it is no function of their total; there entries travel in full, and never wrap.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event
from siloseal.federation.privacy.mechanisms.clipping import clip
from siloseal.federation.privacy.mechanisms.integer_noise import IntegerNoise, Move
from siloseal.federation.privacy.mechanisms.rotation import rotate, rotate_back
from siloseal.federation.privacy.mechanisms.rounding import round_freely, round_within, rounded_norm
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session, Vector, require_real


@dataclass(frozen=True)
class LatticeNoise:
    """Each silo adds its part of the noise, in whole steps of a grid, to its rotated and rounded vector."""

    sensitivity: float
    """Largest L2 distance that one unit moves a silo's vector."""
    whole: bool
    """Whether the unit is the silo's whole vector, which is then clipped; else a part of it, such as one example."""
    step: float
    """The distance of two points of the grid, gamma in the papers."""
    bits: int
    noise: IntegerNoise
    wraps: bool = True
    """Whether entries are reduced modulo 2^bits; else they travel in full, shifted to be at least 0."""
    noised_by: ClassVar[NoisedBy] = NoisedBy.SILOS_TOGETHER

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        unit = "whole" if self.whole else "part"
        return (
            f"lattice({self.noise.name}, sensitivity={self.sensitivity!r}, unit={unit}, step={self.step!r}, "
            f"bits={self.bits}, wraps={self.wraps})"
        )

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The integers of these bits, one for each entry of the rotated vector."""
        bits = self.bits if self.wraps else (2 * silos * self._largest(outer)).bit_length()
        return IntegerDomain(outer.length, 2**bits)

    def grid(self, outer: RealDomain) -> float:
        """The step of the grid."""
        return self.step

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The silo's integers. Rounding and noise come from its own randomness, the rotation from the session."""
        # To clip is to go to the nearest point of a ball, which brings no two vectors further apart.
        vector = clip(vector, self.sensitivity if self.whole else require_real(session.domain).bound)
        scaled = rotate(vector, _seed(session))
        scaled /= self.step
        if self.whole:
            points = round_within(scaled, self.sensitivity / self.step, randomness)
        else:
            points = round_freely(scaled, randomness)
        noised = points.astype(np.int64)
        noised += self.noise.sampler.draw(noised.size, randomness)
        if self.wraps:
            noised &= 2**self.bits - 1
        else:
            noised += self._largest(require_real(session.domain))
        return noised

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total in real units: integers nearest to zero, times the step, rotated back. The noise stays."""
        points = np.asarray(total.total, dtype=np.int64)
        if self.wraps:
            half = 2 ** (self.bits - 1)
            points = (points + half & (2**self.bits - 1)) - half
        else:
            points = points - len(total.contributors) * self._largest(require_real(session.domain))
        values = rotate_back(points.astype(np.float64) * self.step, _seed(session))
        # Rounding moves each of a silo's rotated entries by less than a step.
        return Sum(values, total.contributors, len(total.contributors) * self.step * math.sqrt(points.size))

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release while at least this many contributors are honest."""
        return self.noise.event(self.move(outer.length), honest)

    def move(self, length: int) -> Move:
        """How far one unit moves the integers.

        A whole vector is rounded until its norm is within the bound. Two vectors that differ in a part round to
        points that differ by less than a step more in each entry, if the same uniform numbers round both; mixtures over
        these numbers diverge by no more than their worst case, because Renyi divergence is quasi-convex.
        """
        norm = self.sensitivity / self.step
        return Move.within(rounded_norm(norm, length) if self.whole else norm + math.sqrt(length), length)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of an entry of a total, in real units: noise, and rounding by at most half a step."""
        return self.step * math.sqrt(contributors * (self.noise.variance + 0.25))

    def _largest(self, outer: RealDomain) -> int:
        """The largest magnitude of a silo's noised integers: a table of noise has an end."""
        norm = rounded_norm(self.sensitivity / self.step, outer.length)
        points = norm if self.whole else outer.bound / self.step + 1
        return math.ceil(points) + self.noise.sampler.highest


def _seed(session: Session) -> bytes:
    return session.bind("rotation")
