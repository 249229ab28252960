"""Gaussian noise on real vectors as a theorem: vectors are rounded to a grid, and the noise is exact on it.

The grid is sigma / 2^38 =: gamma, where sigma is the deviation. A vector S is rounded to n = rint(S / gamma), and the
rounded Gaussian K (`rounded_gaussian.py`) is added. What is released is gamma (n + K), rounded once more to a coarse
grid: a function of the integers n + K, and these are a function of n plus a normal vector of deviation 2^38. So every
bound for the continuous Gaussian mechanism holds. Low bits of floating-point sums, which tell what was added (Mironov
2012), are in none of it.

`ALLOWANCE` makes the noise multiplier z true. Let one unit move S by at most C in L2. Rounding moves two vectors of d
entries apart by at most sqrt(d) more, so that |n - n'| <= C / gamma + sqrt(d), and z times that must be at most 2^38:
sigma (1 - z sqrt(d) / 2^38) >= z C. With sigma = z C (1 + 2^-10) it holds while z sqrt(d) <= 2^24, for any sensitivity
up to C (1 + 0.9 2^-10). The 0.9 2^-10 are for floating-point arithmetic before the grid:

- S / gamma in double precision is off by 2^-53 of itself, for two sums of B clipped units by 2^-52 B C together: less
  than a thousandth of the allowance for any B up to 2^32.
- Whatever enters more than one row's gradient is added up in double precision (`silo/training/clipping/long_sum.py`),
  each addend being a product of numbers that no other row changes. With n addends to an entry, any order of adding is
  off by 2^-53 n times the sum of their sizes at most. The addends of a unit have sizes k C together: k = 1 where its
  gradient is one product or was written down, and k = 2^11 at most where its places in a sequence or an image may
  cancel each other, because the bound on its norm has 2^-11 of these sizes in it. So two sums of B units differ from
  what they should by 2^-52 n k B C together, which is below four fifths of the allowance while n k B is below 2^41.
  There n is the rows of a pass times the places of each, and the number of passes: 2^23 units where k = 1, and 8,192
  of 1,024 places each, or 80,000 of 100 places, where all of them cancel.
- Single precision is left in what belongs to one unit alone. Its norm is off by 2^-16 of itself at most, as no more
  than 256 squares are added up in it.
- Tasks' gradients are added in double precision one by one.
- The features of a kernel mean have phases in double precision and are added in it. Their cosines and sines are in
  single precision, a few roundings off; that they are as accurate as their library says is a premise.

All of this is about adding clipped gradients up. It presumes that a unit changes nobody else's gradient, not even a
last bit: a network whose weights come from outside may amplify that without limit. A norm that comes out too small for
numbers that single precision loses would break it as well. Norms are bounds from above therefore
(`silo/training/clipping/layers/rows.py`). And every pass through a network has the same number of rows, of which those
that fill it up weigh nothing (`silo/training/clipping/passes.py`). Whether rows then keep their bits, at any place of a
pass, depends on how a processor multiplies matrices; so each silo tries it on its own machine, on made-up rows,
before anything is charged, and where it does not hold, rows run one by one. That trial is evidence and no proof.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.mechanisms.rounded_gaussian import STEPS, Draws
from siloseal.federation.randomness import Randomness

ALLOWANCE = 2.0**-10
"""Part of the sensitivity that is noised on top of it. See the module's text."""

LARGEST_ROUNDING = 2.0**24
"""Largest noise multiplier times square root of the length."""

GRID_BITS = 12  # of the noise are kept below its deviation: more would make uploads larger, and nothing better
_STRETCH = 2**14  # entries that are noised together: a whole vector's temporaries cost more than the noise

Real = TypeVar("Real", np.float32, np.float64)
Released = TypeVar("Released", np.float32, np.float64)


def noise_deviation(noise_multiplier: float, sensitivity: float) -> float:
    """The standard deviation with which noise has this multiplier, on vectors that one unit moves by `sensitivity`."""
    return noise_multiplier * sensitivity * (1 + ALLOWANCE)


def require_little_rounding(noise_multiplier: float, length: int) -> None:
    """`UncountableEvent` where rounding so many entries takes up a good part of the allowance."""
    if not noise_multiplier * math.sqrt(length) <= LARGEST_ROUNDING:
        raise UncountableEvent(
            f"noise of multiplier {noise_multiplier:g} on {length} entries: multiplier times square root of the length "
            f"may be {LARGEST_ROUNDING:.0f} at most, or the noise's own grid adds to the sensitivity; take less noise"
        )


def grid_of(deviation: float) -> float:
    """The distance of the points on which noised entries lie: a power of two, far below the deviation."""
    return float(2.0 ** (math.floor(math.log2(deviation)) - GRID_BITS))


def noised(vector: NDArray[Real], deviation: float, randomness: Randomness) -> NDArray[Real]:
    """The vector plus noise of this deviation, on the grid of the deviation. NaN stays NaN."""
    released = np.empty_like(vector)
    release_noised(vector, released, deviation, randomness)
    return released


def release_noised(
    vector: NDArray[Real], released: NDArray[Released], deviation: float, randomness: Randomness
) -> None:
    """Set `released` to the vector plus noise of this deviation, in its own precision."""
    noise, points = np.empty((2, min(_STRETCH, vector.size)))
    draws = Draws(vector.size, randomness)
    for start in range(0, vector.size, _STRETCH):
        part = vector[start : start + _STRETCH]
        draws.fill(noise[: part.size])
        _release(part, noise[: part.size], deviation, points[: part.size], released[start : start + _STRETCH])


def _release(
    vector: NDArray[Real],
    noise: NDArray[np.float64],
    deviation: float,
    sums: NDArray[np.float64],
    released: NDArray[Released],
) -> None:
    """Set `released` to the coarse grid's points that are next to gamma (n + K), where K is the noise.

    What follows the addition is computed from n + K alone. That holds even where numbers are so large that they are
    rounded. The array `sums` is room to work in. Numbers are copied where numpy would convert them bit by bit.
    """
    np.copyto(sums, vector)
    sums *= STEPS / deviation
    np.rint(sums, out=sums)
    sums += noise
    sums *= deviation / STEPS / grid_of(deviation)
    np.copyto(released, sums, casting="same_kind")
    np.rint(released, out=released)
    released *= released.dtype.type(grid_of(deviation))
