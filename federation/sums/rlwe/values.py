"""A contribution as non-negative integers, which encrypted sums carry, and the total that their sum stands for."""

import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.fixed_point import from_points, grid_step, largest_point, to_points
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Vector

WIDEST = 62
"""Bits of the largest total that 64-bit integers carry with a sign to spare."""

_FINEST_STEP = 2.0**-960  # far above where double precision runs out


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


def require_values(domain: Domain, silos: int, precision_bits: int) -> int:
    """Return the largest value of one silo, if a sum of this many silos' values can be told; else `DomainError`."""
    if domain.length < 1:
        raise DomainError(f"a CKKS sum carries vectors of one entry or more, found {domain}")
    largest = largest_value(domain, precision_bits)
    if isinstance(domain, RealDomain):
        if not (grid_step(domain, precision_bits) > _FINEST_STEP and math.isfinite(domain.bound * silos)):
            raise DomainError(f"a CKKS sum of {silos} silos cannot carry {domain}; its bound is too small or too large")
    elif largest < 1:
        raise DomainError(f"a CKKS sum cannot carry {domain}; its modulus must be 2 or more")
    if (width := int(silos * largest).bit_length()) > WIDEST:
        raise DomainError(
            f"a CKKS sum of {silos} silos cannot carry {domain} at {precision_bits} bits of precision: a value would "
            f"take {width} bits, {WIDEST} at most fit; lower the precision or the modulus"
        )
    return largest


def to_total(domain: Domain, values: NDArray[np.int64], contributors: int, precision_bits: int) -> tuple[Vector, float]:
    """Return the total that a sum of values stands for, and the largest error of an entry."""
    match domain:
        case RealDomain():
            return from_points(domain, values, contributors, precision_bits)
        case IntegerDomain(modulus=modulus):
            return values % modulus, 0.0
