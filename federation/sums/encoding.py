"""The interface of what turns a silo's real vector into the domain of a sum, and the total back into real units.

Fixed point is one, and so is every mechanism of `federation/privacy/`. `NoisySum` composes it with any secure sum.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Domain, RealDomain, Session, Vector


class Encoding(Protocol):
    """An encoding of real vectors: to the inner domain, and the way back."""

    @property
    def name(self) -> str:
        """Kind and parameters as one string: part of the session's digest."""

    @property
    def noised_by(self) -> NoisedBy:
        """The party that adds the noise."""

    def domain(self, outer: RealDomain, silos: int) -> Domain:
        """The domain that the inner sum must carry, so that encoded vectors of `outer`, and the total of all, fit."""

    def grid(self, outer: RealDomain) -> float:
        """The distance of the points that entries are rounded to."""

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """One silo's vector in the inner domain, with its noise if it adds any. The session is the outer one."""

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The inner total, back in real units; noised now if the aggregator is the one who adds noise."""
