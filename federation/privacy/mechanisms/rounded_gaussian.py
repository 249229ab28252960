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

A draw differs from the exact distribution by the tail beyond 14 deviations (2^-146 of the mass), the rounding of the
table of envelopes (2^-180) and undecided candidates (2^-140): by less than `TABLE_ERROR` in total variation.
"""

import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.exact_noise import TableSampler
from siloseal.federation.randomness import Randomness

STEPS = 2.0**38
"""The standard deviation."""

REACH = 14
"""Number of standard deviations beyond which no value is drawn."""

_VALUE_BITS = 32  # of the values in a cell
_CELLS = 64  # in a standard deviation
_PLACES = np.arange(-REACH * _CELLS, REACH * _CELLS)
_REST = np.iinfo(np.int16).max
_BOX = 2.0**-16 * _CELLS  # unit of the boxes' heights: one of a cell's width has a mass of 2^-16
_ENVELOPE = 2.0**-40  # unit of the envelopes' heights
_PEAK = 1 / math.sqrt(2 * math.pi)
_EXACT_PEAK = "0.39894228040143267793994605993438186847585863116493465766592582967065792589930183850125233390730693643"
_DOUBT = 2.0**-30
"""A relative distance to p that double precision tells for sure.

Here p is computed from the value in place of the point, which is at most 2^-39 away: an error of 2^-35 at most, as the
logarithm of p has a slope of 14 at most. Squares and exp add less than 2^-45.
"""


def draw(count: int, randomness: Randomness) -> NDArray[np.int64]:
    """`count` independent values."""
    drawn = np.empty(count, dtype="<i8")
    rest = draw_boxes(drawn, randomness)
    drawn[rest] = draw_rest(rest.size, randomness)
    return drawn


def draw_boxes(drawn: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Fill the array with values from boxes. Return where no box was drawn, and a value from the rest belongs."""
    count = drawn.size
    stream = randomness.bits(6 * count)
    places = _boxes().take(np.frombuffer(stream, dtype="<u2", offset=4 * count))
    halves = drawn.view("<i4").reshape(count, 2)  # place * 2^32 + value, without the arithmetic
    halves[:, 0], halves[:, 1] = np.frombuffer(stream, dtype="<i4", count=count), places
    return np.flatnonzero(places == _REST)


def draw_rest(count: int, randomness: Randomness) -> NDArray[np.int64]:
    """`count` values from the rest.

    They are the first candidates that lie under the density: among those each value is as frequent as it should be.
    """
    table, found, left = _envelopes(), [np.zeros(0, dtype=np.int64)], count
    while left > 0:
        candidates = int(1.7 * left) + 16  # 62 of a hundred lie under it
        places, stream = table.draw(candidates, randomness), randomness.bits(12 * candidates)
        values = (places << _VALUE_BITS) + np.frombuffer(stream, dtype="<u4", offset=8 * candidates)
        heights = np.frombuffer(stream, dtype="<u8", count=candidates) >> np.uint64(11)
        found.append(values[_lie_under_density(values, heights, randomness)])
        left -= found[-1].size
    return np.concatenate(found)[:count]


def _lie_under_density(
    values: NDArray[np.int64], heights: NDArray[np.uint64], randomness: Randomness
) -> NDArray[np.bool_]:
    """Whether the points at these values lie under p, at a height of the envelope above its box in units of 2^-53."""
    places = values >> _VALUE_BITS
    floors, tops = (part.take(places - _PLACES[0]) for part in _floors_and_tops())
    density = _PEAK * np.exp(-0.5 * np.square(values / STEPS))
    above = floors - density + tops * (heights * 2.0**-53)
    under: NDArray[np.bool_] = above < 0
    for tie in np.flatnonzero(np.abs(above) <= _DOUBT * density + 2.0**-50 * tops):  # one candidate in 2^20
        under[tie] = _exactly_under(
            int(values[tie]), int(heights[tie]), float(floors[tie]), float(tops[tie]), randomness.bits(32)
        )
    return under


def _exactly_under(value: int, height: int, floor: float, top: float, more: bytes) -> bool:
    """The same with 128 more bits of the point, in its step and in its height. They are used here and nowhere else."""
    with localcontext() as context:
        context.prec = 100
        within, finer = (Decimal(int.from_bytes(part, "little")) / 2**128 for part in (more[:16], more[16:]))
        place = (value - Decimal("0.5") + within) / int(STEPS)
        point = (height + finer) / 2**53 * Decimal(top) + Decimal(floor)
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
def _boxes() -> NDArray[np.int16]:
    """The place of the box for each sixteen bits; those of no box are the rest's."""
    chosen = np.repeat(_PLACES, (_floors_and_tops()[0] / _BOX).astype(np.int64))
    boxes = np.full(2**16, _REST, dtype=np.int16)
    boxes[: chosen.size] = chosen
    return boxes


@cache
def _envelopes() -> TableSampler:
    """The places of candidates, in proportion to their envelopes."""
    weights = (_floors_and_tops()[1] / _ENVELOPE).astype(np.int64)
    return TableSampler(int(_PLACES[0]), weights.tolist())
