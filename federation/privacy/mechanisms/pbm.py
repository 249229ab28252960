"""The Poisson-binomial mechanism, counted by the L2 norm: the coins that carry a value are its noise.

A silo clips its vector, rotates it, cuts each entry to a bound of a few root mean squares, and throws coins for it
(`coins.py`; Chen, Ozgur and Kairouz 2022). The clip bounds how far all entries together move, which is what
`poisson_binomial_l2.py` counts; the cut keeps the coins' chances in their interval, and nearly nothing reaches it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event, PoissonBinomialL2Release
from siloseal.federation.privacy.mechanisms.clipping import clip
from siloseal.federation.privacy.mechanisms.coins import CHANCE_STEP, heads
from siloseal.federation.privacy.mechanisms.rotation import rotate, rotate_back
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session, Vector


@dataclass(frozen=True)
class PoissonBinomial:
    """A mechanism that protects a silo's whole vector: it is there, or zeros."""

    clip_norm: float
    bound: float
    """Largest entry of the rotated vector; a larger one is cut to it."""
    trials: int
    theta: float
    noised_by: ClassVar[NoisedBy] = NoisedBy.SILOS_TOGETHER

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        return (
            f"poisson_binomial(clip_norm={self.clip_norm!r}, bound={self.bound!r}, trials={self.trials}, "
            f"theta={self.theta!r})"
        )

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The domain of all silos' heads together: the smallest power of two that they cannot reach."""
        return IntegerDomain(outer.length, 2 ** (silos * self.trials).bit_length())

    def grid(self, outer: RealDomain) -> float:
        """The value that one coin of one silo stands for."""
        return self.bound / (self.trials * self.theta)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """Heads for each entry of the rotated vector."""
        rotated = rotate(clip(vector, self.clip_norm), _seed(session))
        return heads(rotated / self.bound, self.trials, self.theta, randomness)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """Heads beyond half of all coins, in real units, rotated back."""
        silos = len(total.contributors)
        centred = np.asarray(total.total, dtype=np.float64) - silos * self.trials / 2
        values = centred * self.bound / (self.trials * self.theta)
        return Sum(rotate_back(values, _seed(session)), total.contributors, 0.0)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release while at least this many contributors are honest."""
        # A chance is rounded to the next step, which may move each entry by half a step more; that of zero stays 1/2.
        rounding = math.sqrt(outer.length) * CHANCE_STEP / 2 / self.theta
        return PoissonBinomialL2Release(
            honest, self.trials, self.theta, self.clip_norm / self.bound + rounding, outer.length
        )

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The largest standard deviation of an entry of a total: coins of chance one half vary most."""
        return self.bound * math.sqrt(contributors / (4 * self.trials)) / self.theta


def _seed(session: Session) -> bytes:
    return session.bind("rotation")
