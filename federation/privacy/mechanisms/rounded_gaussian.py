"""An exact sampler of the rounded Gaussian: K = round(N), where N is normal with deviation `STEPS`.

For an integer n, n + round(N) is round(n + N). So whoever adds K to an integer releases a function of n + N, which is
the continuous Gaussian mechanism on n. All that is proven of that mechanism holds, in any dimension, with Poisson
samples as without: its Renyi divergences, and its privacy loss distribution. The discrete Gaussian does not have this.
Its Renyi divergence equals the Gaussian's at integer orders and shifts, but its privacy loss is not dominated: with
deviation 1, shift 1 and epsilon 1 it has delta 0.1414, against 0.1270.

N / STEPS is cut into cells of 1/64. A cell has 2^32 values of K: that of place 0 has the values from 0 on. Under the
density p of the normal distribution lies a box in each cell, whose mass is a whole multiple of 2^-16 (`_BOXES`). So
sixteen bits tell the box, and 32 the value in it: this is all that 99 draws of a hundred need. The others are in the
rest, p less the boxes. They come by rejection from envelopes in the same cells. Heights of boxes and of envelopes may
be any that are low and high enough; they are dyadic numbers, so that nothing is rounded but p itself, and where
double precision cannot tell on which side of p a candidate lies, more of its bits are drawn and Decimal decides.

A draw differs from the exact distribution by the tail beyond 14 deviations (2^-145 of the mass), and by candidates
that 366 bits leave undecided (2^-140): by less than `ERROR` in total variation.
"""

import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import Randomness

STEPS = 2.0**38
"""The standard deviation."""

REACH = 14
"""Number of standard deviations beyond which no value is drawn."""

ERROR = 2.0**-130
"""Largest total variation between a draw and its exact distribution."""

_CELLS = 64  # in a standard deviation
_PLACES = np.arange(-REACH * _CELLS, REACH * _CELLS)
_NOWHERE = REACH * _CELLS
_BOX = 2.0**-16 * _CELLS  # unit of the boxes' heights: one of a cell's width has a mass of 2^-16
_ENVELOPE = 10 * 2.0**-17  # unit of the envelopes' heights: the least of which all have 2^14 at most
_PEAK = 1 / math.sqrt(2 * math.pi)
_EXACT_PEAK = "0.39894228040143267793994605993438186847585863116493465766592582967065792589930183850125233390730693643"
_DOUBT = 2.0**-31
"""A distance to p that double precision tells for sure, and a part of p by which it may be off.

Here p is computed from the value in place of the point, which is at most 2^-39 away: that is off by 2^-35 of p at most,
as the logarithm of p has a slope of 14 at most. Squares and exp add less than 2^-45, its height 2^-50.
"""

_CELL_STEPS = 2.0**32  # in a cell


def draw(count: int, randomness: Randomness) -> NDArray[np.int64]:
    """`count` independent values."""
    values = np.empty(count)
    Draws(count, randomness).fill(values)
    return values.astype(np.int64)


class Draws:
    """Independent values, some of them at a time.

    Values of the rest are drawn ahead for all of them, because drawing a few costs nearly as much as drawing hundreds.
    """

    def __init__(self, count: int, randomness: Randomness) -> None:
        self._randomness = randomness
        expected = count * (1 - _boxes().size / 2**16)
        self._ahead = math.ceil(expected + 4 * math.sqrt(expected))  # too few in one long vector of 30,000
        self._rest = np.zeros(0)

    def fill(self, values: NDArray[np.float64]) -> None:
        """Set every entry to a value of its own."""
        stream = self._randomness.bits(6 * values.size)
        drawn = np.frombuffer(stream, dtype="<u2", offset=4 * values.size)
        np.copyto(values, np.frombuffer(stream, dtype="<u4", count=values.size))
        values += _boxes().take(drawn, mode="clip")
        places = np.flatnonzero(drawn >= _boxes().size)  # no box was drawn: there the rest belongs
        values[places] = self._next_of_rest(places.size)

    def _next_of_rest(self, count: int) -> NDArray[np.float64]:
        if count > self._rest.size:
            more = max(count - self._rest.size, self._ahead)
            self._rest = np.concatenate([self._rest, draw_rest(more, self._randomness)])
        found, self._rest = self._rest[:count], self._rest[count:]
        return found


def draw_rest(count: int, randomness: Randomness) -> NDArray[np.float64]:
    """`count` values from the rest.

    They are the first candidates that lie under the density: among those each value is as frequent as it should be.
    """
    found, left = [np.zeros(0)], count
    while left > 0:
        candidates = 2 * left + 16  # 52 of a hundred lie under it
        stream = randomness.bits(14 * candidates)
        heights = np.frombuffer(stream, dtype="<u8", count=candidates)
        places = _envelopes().take(np.frombuffer(stream, dtype="<u2", offset=12 * candidates) >> np.uint16(2))
        values = places * _CELL_STEPS + np.frombuffer(stream, dtype="<u4", count=candidates, offset=8 * candidates)
        found.append(values[_lie_under_density(values, places, heights, randomness)])
        left -= found[-1].size
    return np.concatenate(found)[:count]


def _lie_under_density(
    values: NDArray[np.float64], places: NDArray[np.int16], heights: NDArray[np.uint64], randomness: Randomness
) -> NDArray[np.bool_]:
    """Whether the points at these values lie under p, at a height of the envelope above its box in units of 2^-64."""
    floors, tops = (part.take(places) for part in _heights())
    exponents = values * (math.sqrt(0.5) / STEPS)
    exponents *= exponents
    above = tops * (heights * 2.0**-64) + floors - _PEAK * np.exp(-exponents)
    under: NDArray[np.bool_] = above < 0
    for tie in np.flatnonzero(np.abs(above) <= _DOUBT):  # one candidate in 2^19
        ends = float(floors[tie]), float(tops[tie])
        under[tie] = _exactly_under(int(values[tie]), int(heights[tie]), *ends, randomness.bits(32))
    return under


def _exactly_under(value: int, height: int, floor: float, top: float, more: bytes) -> bool:
    """The same with 128 more bits of the point, in its step and in its height. They are used here and nowhere else."""
    with localcontext() as context:
        context.prec = 100
        within, finer = (Decimal(int.from_bytes(part, "little")) / 2**128 for part in (more[:16], more[16:]))
        place = (value - Decimal("0.5") + within) / int(STEPS)
        point = (height + finer) / 2**64 * Decimal(top) + Decimal(floor)
        return point < Decimal(_EXACT_PEAK) * (-place * place / 2).exp()


@cache
def _floors_and_tops() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights of the boxes, and of the envelopes above them, of each cell.

    A cell reaches from `place` / 64 to (`place` + 1) / 64, less half a step. Over that half step p changes by less than
    2^-35 of its value, which the factors cover, as they cover what double precision rounds.
    """
    inner = np.abs(np.where(_PLACES < 0, _PLACES + 1, _PLACES)) / _CELLS
    lowest, highest = (_PEAK * np.exp(-0.5 * np.square(end)) for end in (inner + 1 / _CELLS, inner))
    floors = np.floor(lowest * (1 - _DOUBT) / _BOX) * _BOX
    return floors, np.ceil((highest * (1 + _DOUBT) - floors) / _ENVELOPE) * _ENVELOPE


@cache
def _heights() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same with place 0 first, and places below it from the end, as indices below 0 are. Nothing is under 1."""
    floors, tops = _floors_and_tops()
    middle = floors.size // 2
    return np.concatenate([floors[middle:], [1.0], floors[:middle]]), np.concatenate(
        [tops[middle:], [0.0], tops[:middle]]
    )


@cache
def _boxes() -> NDArray[np.float32]:
    """The first value of the box for each number of sixteen bits; numbers beyond them are the rest's."""
    return _shared_out(_floors_and_tops()[0] / _BOX).astype(np.float32) * np.float32(_CELL_STEPS)


@cache
def _envelopes() -> NDArray[np.int16]:
    """The place of the envelope for each fourteen bits; with those of none a candidate is lost."""
    chosen = _shared_out(_floors_and_tops()[1] / _ENVELOPE)
    return np.concatenate([chosen, np.full(2**14 - chosen.size, _NOWHERE, dtype=np.int16)])


def _shared_out(counts: NDArray[np.float64]) -> NDArray[np.int16]:
    """Each place as often as its count says."""
    return np.repeat(_PLACES, counts.astype(np.int64)).astype(np.int16)
