"""Whether any silo has a cell set, as a sum modulo 2: bits that are random where it is, and seldom 1 where it is not.

A silo sends a fair coin for a cell that it has set and 0 for any other, and flips every bit with some chance. Modulo 2
the total is then a fair coin if one silo or more has set the cell, however many, and a rare 1 if none has. A sum of
counts would tell less: its noise is wider than the step from no silo to one.

One record moves at most one cell, from a coin that shows 1 with chance f to a fair one. What that tells is known
exactly (`federation/privacy/random_bits.py`), and the ledger is charged with that. The contrast of a cell is 1 - 2 f: 1
where nothing flips, 0 where all bits are coins. The contrasts of independent flips multiply.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.privacy.events import Event, NoisyBitsRelease
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session, Vector

MOST_CONTRAST = 1 - 2.0**-20
"""Largest contrast that is planned with, however large epsilon is: some bits always flip."""


@dataclass(frozen=True)
class NoisyBits:
    """Each silo flips bits with a chance such that those of `honest` silos together flip often enough."""

    contrast: float
    """Contrast that the flips of the honest silos together leave."""
    honest: int
    cells: int = 1
    """Number of cells that one unit may move. Their divergences add up."""
    noised_by: ClassVar[NoisedBy] = NoisedBy.SILOS_TOGETHER

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""
        return f"bits(contrast={self.contrast!r}, honest={self.honest}, cells={self.cells})"

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The domain of bits."""
        return IntegerDomain(outer.length, 2)

    def grid(self, outer: RealDomain) -> float:
        """The grid of whole numbers."""
        return 1.0

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """Fair coins where a cell is set, zeros elsewhere, and then the flips."""
        if not np.isin(vector, (0.0, 1.0)).all():
            raise DomainError("a cell is set or not, but something else than 0 and 1 came")
        coins, flips = randomness.uniforms(vector.size) < 0.5, randomness.uniforms(vector.size) < self.spread(1)
        bits: NDArray[np.int64] = (((vector == 1.0) & coins) ^ flips).astype(np.int64)
        return bits

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """The bits of the total, as they are."""
        return Sum(np.asarray(total.total, dtype=np.float64), total.contributors, 0.0)

    def event(self, outer: RealDomain, honest: int) -> Event:
        """The cost of one release while at least this many contributors are honest."""
        if honest < self.honest:
            raise DomainError(f"the flips of {self.honest} silos were planned on, but only {honest} may be honest")
        return NoisyBitsRelease(self.contrast, self.cells)

    def deviation(self, outer: RealDomain, contributors: int) -> float:
        """The standard deviation of a bit of the total at its worst: that of a fair coin."""
        return 0.5

    def spread(self, contributors: int) -> float:
        """The chance that the flips of this many silos turn a bit of the total: 1 - 2 f multiplies."""
        return (1 - float(self.contrast ** (contributors / self.honest))) / 2
