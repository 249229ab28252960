"""The Poisson-binomial mechanism over a Kashin frame, as in its paper (Chen, Ozgur and Kairouz 2022).

A vector is spread over twice as many coefficients of a frame, none of which is large, and each coefficient is a value
that coins carry (`coins.py`). Each costs what its worst exchange costs, whatever the vector's norm is, so that the
whole vector may be replaced by any other. A scalar (a vector of one entry) is its own coefficient.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event, PoissonBinomialRelease
from siloseal.federation.privacy.mechanisms.clipping import clip
from siloseal.federation.privacy.mechanisms.coins import heads
from siloseal.federation.privacy.mechanisms.kashin import LEVEL, analyse, frame_size, synthesise
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session, Vector


@dataclass(frozen=True)
class KashinPoissonBinomial:
    """A mechanism that protects a silo's whole vector, whatever else it might have been."""

    clip_norm: float
    trials: int
    theta: float
    noised_by: ClassVar[NoisedBy] = NoisedBy.SILOS_TOGETHER

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        return f"kashin_poisson_binomial(clip_norm={self.clip_norm!r}, trials={self.trials}, theta={self.theta!r})"

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The domain of all silos' heads together: the smallest power of two that they cannot reach."""
        return IntegerDomain(coefficients(outer.length), 2 ** (silos * self.trials).bit_length())

    def grid(self, outer: RealDomain) -> float:
        """The value that one coin of one silo stands for."""
        return self._largest(outer.length) / (self.trials * self.theta)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """Heads for each coefficient. Coefficients beyond the bound are cut to it, or their chances would tell."""
        clipped, largest = clip(vector, self.clip_norm), self._largest(vector.size)
        spread = clipped if vector.size == 1 else analyse(clipped, _seed(session))
        return heads(spread / largest, self.trials, self.theta, randomness)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """Heads beyond half of all coins, in real units, put together again."""
        length, silos = session.domain.length, len(total.contributors)
        centred = np.asarray(total.total, dtype=np.float64) - silos * self.trials / 2
        values = centred * self._largest(length) / (self.trials * self.theta)
        vector = values if length == 1 else synthesise(values, _seed(session), length)
        return Sum(vector, total.contributors, 0.0)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release while at least this many contributors are honest."""
        return PoissonBinomialRelease(honest, self.trials, self.theta, coefficients(outer.length))

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The largest standard deviation of an entry of a total: coins of chance one half vary most."""
        return self._largest(outer.length) * math.sqrt(contributors / (4 * self.trials)) / self.theta

    def _largest(self, length: int) -> float:
        """The largest coefficient of a clipped vector."""
        return self.clip_norm if length == 1 else LEVEL * self.clip_norm / math.sqrt(coefficients(length))


def coefficients(length: int) -> int:
    """Number of integers that carry a vector of this length."""
    return 1 if length == 1 else frame_size(length)


def _seed(session: Session) -> bytes:
    return session.bind("frame")
