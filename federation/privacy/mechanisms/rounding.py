"""Stochastic rounding to integers whose norm stays bounded (Kairouz, Liu and Steinke 2021, section 4).

Rounding each entry up or down at random keeps its mean, and may lengthen the vector. Rounding again until it is no
longer than a bound that most tries meet costs next to nothing, and the bound is what the privacy rests on.
"""

import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError
from siloseal.federation.randomness import Randomness

BETA = math.exp(-0.5)
"""Largest share of tries that may be rejected; in fact about one in a hundred is."""

_TRIES = 200  # all of them fail with probability below e^-100


def rounded_norm(norm: float, length: int) -> float:
    """A bound on the L2 norm of a vector of at most `norm` after rounding, which a try fails with `BETA` at most."""
    always = norm + math.sqrt(length)  # no rounding is longer
    slack = math.sqrt(2 * math.log(1 / BETA)) * (norm + math.sqrt(length) / 2)
    return math.sqrt(min(always**2, norm**2 + length / 4 + slack))


def round_within(vector: NDArray[np.float64], norm: float, randomness: Randomness) -> NDArray[np.float64]:
    """Integers, as floats, of L2 norm at most `rounded_norm(norm, len(vector))`."""
    most = rounded_norm(norm, vector.size) ** 2 * (1 - 1e-12)  # so that no rounding of the product lets one through
    for _ in range(_TRIES):
        rounded = round_freely(vector, randomness)
        if float(rounded @ rounded) <= most:
            return rounded
    raise DomainError(
        f"{_TRIES} roundings of a vector of {vector.size} entries were all longer than agreed; it was not clipped to "
        f"{norm:g} steps of the grid. Nothing was sent"
    )


def round_freely(vector: NDArray[np.float64], randomness: Randomness) -> NDArray[np.float64]:
    """The entries rounded up with a chance of their fraction, down otherwise; chances are multiples of 2^-32."""
    uniform = np.frombuffer(randomness.bits(4 * vector.size), dtype="<u4") * 2.0**-32
    uniform += vector
    return np.asarray(np.floor(uniform, out=uniform), dtype=np.float64)
