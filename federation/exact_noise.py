"""Exact samplers of integer noise, by table.

A table is the inverse distribution function in integers, read with bits of the operating system. Every entry of a table
is a cumulative probability in units of 2^-192, from integer recurrences of 256 bits. A draw reads sixteen bits; these
settle most values at once. Where a boundary lies among the values that they leave, another 48 bits decide, and where
even those agree with a boundary, 128 more. So a draw differs from the exact distribution by the rounding of the table
and by tails that are cut off: at most `TABLE_ERROR` in total variation. Over 2^40 draws that changes no delta above
2^-60 by one part in a million. (A test compares every table with the exact probabilities.)
"""

import bisect
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError
from siloseal.federation.randomness import Randomness

TABLE_ERROR = 2.0**-120
"""Largest total variation between a draw and its exact distribution."""

LARGEST_VARIANCE = 2.0**32
"""Largest variance that a table serves: it holds about 28 entries for each unit of standard deviation."""

_SCALE = 256  # bits of the recurrences
_DEPTH = 192  # bits of the cumulative probabilities
_TAIL = 140  # values rarer than 2^-140, relative to the most frequent one, are left out
_FIRST = 16  # bits that are read of every draw
_UNDECIDED = np.iinfo(np.int32).min


class TableSampler:
    """A sampler of one distribution on a range of integers, by a table of cumulative probabilities."""

    def __init__(self, lowest: int, weights: list[int]) -> None:
        """`weights` of `lowest`, `lowest` + 1, ...: integers in proportion to the probabilities."""
        self.lowest, total = lowest, sum(weights)
        bounds, below = list[int](), 0
        for weight in weights[:-1]:
            below += weight
            bounds.append((below << _DEPTH) // total)
        self._bounds = bounds
        """A uniform integer of 192 bits stands for the k-th value where exactly k bounds are at most as large."""
        self._words = np.array([bound >> (_DEPTH - 64) for bound in bounds], dtype=np.uint64)
        buckets = np.arange(2**_FIRST, dtype=np.uint64) << np.uint64(64 - _FIRST)
        first = np.searchsorted(self._words, buckets, side="left")
        last = np.searchsorted(self._words, buckets + np.uint64(2 ** (64 - _FIRST) - 1), side="right")
        self._settled = np.where(first == last, first + lowest, _UNDECIDED).astype(np.int32)

    @property
    def highest(self) -> int:
        """The largest value that is ever drawn."""
        return self.lowest + len(self._bounds)

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """`count` independent values."""
        buckets = np.frombuffer(randomness.bits(2 * count), dtype="<u2")
        drawn = self._settled.take(buckets)
        undecided = np.flatnonzero(drawn == _UNDECIDED)
        if undecided.size:
            drawn[undecided] = self._decide(buckets[undecided], randomness)
        return drawn.astype(np.int64)

    def _decide(self, buckets: NDArray[np.uint16], randomness: Randomness) -> NDArray[np.int64]:
        more = np.frombuffer(randomness.bits(8 * buckets.size), dtype="<u8") >> np.uint64(_FIRST)
        words = (buckets.astype(np.uint64) << np.uint64(64 - _FIRST)) | more
        places = np.searchsorted(self._words, words, side="right")
        ties = np.flatnonzero(places > np.searchsorted(self._words, words, side="left"))
        for tie in ties:  # one draw in about 2^50
            rest = int.from_bytes(randomness.bits((_DEPTH - 64) // 8), "little")
            places[tie] = bisect.bisect_right(self._bounds, (int(words[tie]) << (_DEPTH - 64)) | rest)
        return np.asarray(places + self.lowest, dtype=np.int64)


@lru_cache(maxsize=8)
def discrete_gaussian(variance: float) -> TableSampler:
    """Chances in proportion to exp(-k^2 / (2 variance)) (Canonne, Kamath and Steinke 2020)."""
    _require_small(variance)
    with localcontext() as context:
        context.prec = 100
        exact = Fraction(variance)
        minus_half = -Decimal(exact.denominator) / (2 * Decimal(exact.numerator))
        ratio, square = (int(power.exp() * 2**_SCALE) for power in (minus_half, 2 * minus_half))

    def following(k: int, weight: int) -> int:
        nonlocal ratio  # exp(-(2k + 1) / (2 variance)): the step from k to k + 1
        weight = weight * ratio >> _SCALE
        ratio = ratio * square >> _SCALE
        return weight

    return _symmetric(_falling(following))


@lru_cache(maxsize=8)
def skellam(variance: float) -> TableSampler:
    """The difference of two Poisson variables of rate variance / 2 each: chances in proportion to I_k(variance)."""
    _require_small(variance)
    rate = Fraction(variance)
    # Bessel functions of falling order, by their recurrence (Miller's algorithm): upwards it would lose all digits.
    # Its false start is forgotten at the rate at which the tail grows, so it begins a good way beyond the tail.
    last = _skellam_reach(variance)
    higher, current, weights = 0, 1 << _SCALE, list[int]()
    for k in range(last + last // 4 + 64, 0, -1):
        higher, current = current, higher + 2 * k * rate.denominator * current // rate.numerator
        if k - 1 <= last:
            weights.append(current)
    return _symmetric(weights[::-1])


@lru_cache(maxsize=8)
def centred_binomial(trials: int) -> TableSampler:
    """Heads of an even number of fair coins, less half of their number."""
    _require_small(trials / 4)
    if trials < 2 or trials % 2:
        raise ConfigError(f"binomial noise has {trials} coins, expected an even number of them")
    half = trials // 2
    return _symmetric(_falling(lambda k, weight: weight * (half - k) // (half + k + 1)))


def _falling(following: Callable[[int, int], int]) -> list[int]:
    """The weights of 0, 1, 2, ... until they no longer matter."""
    weights = [1 << _SCALE]
    while weights[-1] >> (_SCALE - _TAIL):
        weights.append(following(len(weights) - 1, weights[-1]))
    return weights if weights[-1] else weights[:-1]  # few coins have an end


def _symmetric(weights: list[int]) -> TableSampler:
    """The sampler over -K .. K from the weights of 0 .. K."""
    return TableSampler(1 - len(weights), weights[:0:-1] + weights)


def _skellam_reach(variance: float) -> int:
    """The value from which on the tail is below 2^-140, by Chernoff's bound."""

    def exponent(k: float) -> float:
        return k * math.asinh(k / variance) - math.hypot(k, variance) + variance

    low, high = 1, 2
    while exponent(high) < _TAIL * math.log(2):
        low, high = high, 2 * high
    return bisect.bisect_left(range(low, high), _TAIL * math.log(2), key=exponent) + low


def _require_small(variance: float) -> None:
    if not 0 < variance <= LARGEST_VARIANCE:
        raise ConfigError(
            f"noise of variance {variance:g} in steps of the grid was asked for, at most {LARGEST_VARIANCE:g} is "
            "tabulated; use fewer bits"
        )
