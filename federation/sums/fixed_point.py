"""Real vectors as integers on a grid, with exact bounds, so that any integer sum carries them.

The grid has 2^(precision + 1) points, and 0 is one of them. A silo sends the number of the point nearest to each entry,
counted from the lowest; the total of n silos is off by at most n halves of a step, and no total ever wraps around.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError, OpeningFailed
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure, NoisedBy
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector, require_real

MOST_PRECISION_BITS = 51
"""Most precision bits. Points up to 2^52 are whole numbers of double precision, in which entries are rounded."""

_BOUND_SLACK = 1 + 2.0**-23
"""Factor by which a domain lets entries pass its bound, because single precision rounds."""

_STRETCH = 2**15  # entries that are rounded together: a whole vector's temporaries cost more than the rounding


def grid_step(domain: RealDomain, precision_bits: int) -> float:
    """The distance of two points: the bound lies within half of it from the last."""
    return domain.bound * _BOUND_SLACK / (2.0**precision_bits - 0.5)


def to_points(domain: RealDomain, vector: Vector, precision_bits: int) -> NDArray[np.int64]:
    """Return the nearest point of each entry, from 0 to `largest_point`."""
    points, step = np.empty(vector.shape, dtype=np.int64), grid_step(domain, precision_bits)
    for start in range(0, vector.size, _STRETCH):
        scaled = vector[start : start + _STRETCH] / step
        np.rint(scaled, out=scaled)
        np.minimum(scaled, 2**precision_bits - 1, out=scaled)  # the bound itself is halfway to a point too many
        scaled += 2**precision_bits
        points[start : start + _STRETCH] = scaled
    return points


def largest_point(precision_bits: int) -> int:
    """Return the last point of the grid; `DomainError` for a grid that double precision cannot count."""
    if type(precision_bits) is not int or not 1 <= precision_bits <= MOST_PRECISION_BITS:
        raise DomainError(
            f"reals were to be rounded to {precision_bits!r} bits, expected a whole number, 1 to {MOST_PRECISION_BITS}"
        )
    return int(2 ** (precision_bits + 1) - 1)


def from_points(
    domain: RealDomain, total: NDArray[np.int64], contributors: int, precision_bits: int
) -> tuple[NDArray[np.float64], float]:
    """Return the real total that a total of points stands for, and the largest error of an entry."""
    step = grid_step(domain, precision_bits)
    # Rounding to the grid, by half a step each; and a few roundings of double precision on the way.
    error_bound = contributors * (step / 2 + domain.bound * 2.0**-50)
    return (total - contributors * 2**precision_bits) * step, error_bound


@dataclass(frozen=True)
class FixedPoint:
    """The grid as an encoding: it rounds and adds no noise."""

    precision_bits: int
    noised_by: ClassVar[NoisedBy] = NoisedBy.NOBODY

    @property
    def name(self) -> str:
        """The encoding's name, which is part of the session's digest."""
        return f"fixed_point(precision_bits={self.precision_bits})"

    def domain(self, outer: RealDomain, silos: int) -> IntegerDomain:
        """The smallest power of two that the total of all silos cannot reach."""
        if not (math.isfinite(outer.bound * silos) and self.grid(outer) >= sys.float_info.min):
            raise DomainError(
                f"entries up to {outer.bound:g} of {silos} silos cannot be counted in {self.precision_bits} bits; "
                "their total must be finite, and a step of the grid no smaller than doubles can be: correct the bound"
            )
        bits = (silos * largest_point(self.precision_bits)).bit_length()
        return IntegerDomain(outer.length, 2**bits)

    def grid(self, outer: RealDomain) -> float:
        """The step of the grid."""
        return grid_step(outer, self.precision_bits)

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """Return the points. Nothing here is random."""
        return to_points(require_real(session.domain), vector, self.precision_bits)

    def decode(self, total: Sum, session: Session, randomness: Randomness) -> Sum:
        """Return the total as reals. A total beyond what its contributors can reach is refused."""
        count, points = len(total.contributors), np.asarray(total.total, dtype=np.int64)
        if points.max(initial=0) > count * largest_point(self.precision_bits):
            raise OpeningFailed(
                f"a sum of {count} silos came out beyond what they can reach together: one of them contributed or "
                "answered falsely; begin another sum"
            )
        values, error_bound = from_points(require_real(session.domain), points, count, self.precision_bits)
        return Sum(values, total.contributors, error_bound)


@dataclass(frozen=True)
class FixedPointSum:
    """An integer sum that carries reals as well: these in fixed point, integers as they are."""

    integers: SecureSum
    precision_bits: int

    @property
    def name(self) -> str:
        """The scheme's name, which is part of the session's digest, whatever the domain."""
        return self._reals.name

    @property
    def exposure(self) -> Exposure:
        """The exposure of the integer sum."""
        return self.integers.exposure

    @property
    def sums_modulo(self) -> bool:
        """Whether the integer sum shows totals modulo a power of two only."""
        return self.integers.sums_modulo

    def admit(self, domain: Domain, silos: int) -> None:
        self._over(domain).admit(domain, silos)

    def fewest(self, silos: int) -> int:
        return self.integers.fewest(silos)

    def grid(self, domain: Domain) -> float:
        return self._over(domain).grid(domain)

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        return self._over(domain).statistical_distance(domain, silos)

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        rows = dict(self._over(domain).describe(domain, silos))
        if isinstance(domain, RealDomain):
            precision = f"{self.precision_bits} bits: an entry is rounded to multiples of {self.grid(domain):.2g}"
            rows = {"precision": precision, **rows}
        return rows

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        return self._over(session.domain).silo(session, me, contribution, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        return self._over(session.domain).aggregator(session)

    @property
    def _reals(self) -> NoisySum:
        return NoisySum(FixedPoint(self.precision_bits), self.integers)

    def _over(self, domain: Domain) -> SecureSum:
        return self._reals if isinstance(domain, RealDomain) else self.integers
