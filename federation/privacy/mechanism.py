"""The interface of every mechanism: noise that travels with a sum.

A mechanism turns a silo's real vector into the domain of the sum below it, noise included, and the total back.
`federation/sums/noisy_sum.py` composes it with any secure sum.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import Event
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Domain, RealDomain, Session, Vector


class Mechanism(Protocol):
    """A mechanism: clip, round, noise; the way back; and what it costs."""

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""

    @property
    def noised_by(self) -> NoisedBy:
        """The party that adds the noise."""

    def domain(self, outer: RealDomain, silos: int) -> Domain:
        """The domain that the inner sum must carry, so that noised vectors of `outer`, and the total of all, fit."""

    def grid(self, outer: RealDomain) -> float:
        """The distance of the points that entries are rounded to."""

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """One silo's noised vector, in the inner domain. The session is the outer one."""

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The inner total, back in real units; noised now if the aggregator is the one who adds noise."""

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release of a vector of `outer` while at least this many contributors are honest."""

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of an entry of the total: of noise, and of rounding at its worst."""
