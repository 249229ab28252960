"""Counts under noise that the silos share: whole numbers, so there is nothing to clip, to rotate or to round.

How far one unit moves the counts is known exactly, from what is counted, and comes with the mechanism. Counts travel
in full, shifted so that none is negative: no entry and no total ever wraps around. So it does not matter whether the
sum below shows a total before it is reduced, which would tell how many silos' entries had wrapped.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.events import Event
from siloseal.federation.privacy.mechanisms.integer_noise import IntegerNoise, Move
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session, Vector, require_real

MOST_BITS = 52
"""Whole numbers above 2^53 are not all floats, and a total is handed on as floats."""


@dataclass(frozen=True)
class NoisyCounts:
    """Each silo adds its part of the noise to its counts."""

    move: Move
    """How far one unit moves a silo's counts; its `coordinates` bound how many there are."""
    noise: IntegerNoise
    noised_by: ClassVar[NoisedBy] = NoisedBy.SILOS_TOGETHER

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        move = self.move
        return f"counts({self.noise.name}, l2={move.l2!r}, l1={move.l1!r}, linf={move.linf!r})"

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The integers below a power of two that no total reaches."""
        return IntegerDomain(outer.length, 2 ** self._bits(outer, silos))

    def grid(self, outer: RealDomain) -> float:
        """The grid of whole numbers."""
        return 1.0

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The silo's counts and its part of the noise, shifted."""
        counts = np.rint(vector)
        if not np.array_equal(counts, vector):
            raise DomainError("counts came with fractions; only whole numbers are noised as counts")
        noised = counts.astype(np.int64)
        noised += self.noise.sampler.draw(noised.size, randomness)
        noised += self._shift(require_real(session.domain))
        return noised

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The total with every contributor's shift taken back. It is exact but for the noise."""
        shift = self._shift(require_real(session.domain))
        counts = np.asarray(total.total, dtype=np.int64) - len(total.contributors) * shift
        return Sum(counts.astype(np.float64), total.contributors, 0.0)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release while at least this many contributors are honest."""
        if outer.length > self.move.coordinates:
            raise DomainError(
                f"{outer.length} counts are to be noised, but the noise was planned for {self.move.coordinates}"
            )
        return self.noise.event(self.move, honest)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of the noise on each count of a total; nothing is rounded."""
        return self.spread(contributors)

    def spread(self, contributors: int) -> float:
        """The standard deviation of the noise, which is the same for counts of any domain."""
        return math.sqrt(contributors * self.noise.variance)

    def _shift(self, outer: RealDomain) -> int:
        """The shift: no silo's noised count is below minus this, because a table of noise has an end."""
        return math.ceil(outer.bound) + self.noise.sampler.highest

    def _bits(self, outer: RealDomain, silos: int) -> int:
        bits = (2 * silos * self._shift(outer)).bit_length()
        if bits > MOST_BITS:
            raise DomainError(
                f"totals of {silos} silos with counts up to {outer.bound:g} need {bits} bits, at most {MOST_BITS} are "
                "exact; lower largest_silo, or count in coarser steps"
            )
        return bits
