"""A contribution as non-negative integers, which encrypted sums carry, and the total that their sum stands for."""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.sums.fixed_point import from_points, largest_point, to_points
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Vector


def to_values(domain: Domain, vector: Vector, precision_bits: int) -> NDArray[np.int64]:
    """Return points of the fixed-point grid for reals; integers as they are."""
    match domain:
        case RealDomain():
            return to_points(domain, vector, precision_bits)
        case IntegerDomain():
            return vector.astype(np.int64)


def largest_value(domain: Domain, precision_bits: int) -> int:
    """The largest integer that `to_values` gives."""
    return largest_point(precision_bits) if isinstance(domain, RealDomain) else domain.modulus - 1


def to_total(domain: Domain, values: NDArray[np.int64], contributors: int, precision_bits: int) -> tuple[Vector, float]:
    """Return the total that a sum of values stands for, and the largest error of an entry."""
    match domain:
        case RealDomain():
            return from_points(domain, values, contributors, precision_bits)
        case IntegerDomain(modulus=modulus):
            return values % modulus, 0.0
