"""The rounded Gaussian: boxes and envelopes against the density, draws against exact chances, points on its very edge."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.privacy.mechanisms import rounded_gaussian
from siloseal.federation.privacy.mechanisms.rounded_gaussian import (
    _NOWHERE,
    _PLACES,
    ERROR,
    REACH,
    STEPS,
    Draws,
    _boxes,
    _envelopes,
    _exactly_under,
    _floors_and_tops,
    _lie_under_density,
    draw,
    draw_rest,
)
from siloseal.federation.randomness import Randomness, SecureRandomness, SeededRandomness

ALARM = 1e-7
"""The chance that a statistical test of this file fails though nothing is wrong."""

HALF_STEP = 2.0**-39
FLOORS, TOPS = _floors_and_tops()
EDGES = _PLACES / 64 - HALF_STEP  # of cells, exactly


def density(place: float) -> mpmath.mpf:
    return mpmath.npdf(mpmath.mpf(place))


def test_every_box_lies_under_the_density_and_every_envelope_above_it() -> None:
    """The density has its extremes in a cell at the ends, and at zero where that is inside."""
    with mpmath.workdps(40):
        at_edges = [density(edge) for edge in (*EDGES, float(REACH) - HALF_STEP)]
        for place, floor, top, ends in zip(_PLACES, FLOORS, TOPS, pairwise(at_edges), strict=True):
            highest = density(0) if place == 0 else max(ends)
            assert floor < min(ends)
            assert floor + top > highest


def test_a_box_comes_as_often_as_its_mass_and_the_rest_makes_up_for_the_others() -> None:
    places, counts = np.unique(_boxes().astype(np.float64) / 2**32, return_counts=True)
    assert 1 - _boxes().size / 2**16 == 1 - FLOORS.sum() / 64 < 0.011
    masses = dict(zip(places.tolist(), counts / 2**16, strict=True))
    assert masses == {int(place): floor / 64 for place, floor in zip(_PLACES, FLOORS, strict=True) if floor}


def test_candidates_are_as_frequent_as_their_envelopes_are_high() -> None:
    places, counts = np.unique(_envelopes(), return_counts=True)
    heights = dict(zip(places.tolist(), counts * 10 / 2**17, strict=True))
    assert heights.pop(_NOWHERE) > 0  # there was room for all
    assert heights == dict(zip(_PLACES.tolist(), TOPS.tolist(), strict=True))
    assert 1 - FLOORS.sum() / 64 > 0.5 * _envelopes().size * 10 / 2**17 / 64  # half of the candidates are in the rest


def test_a_candidate_of_no_envelope_is_lost() -> None:
    for value in (_NOWHERE << 32, (_NOWHERE << 32) + 2**32 - 1):
        for height in (0, 2**64 - 1):
            assert not decided(value, height, Later(bytes(32)))


def test_the_tail_that_is_cut_off_is_far_below_the_stated_error() -> None:
    with mpmath.workdps(60):
        assert 2 * mpmath.ncdf(-REACH) < ERROR / 2**10


def test_the_peak_of_the_density_is_right_to_a_hundred_digits() -> None:
    with mpmath.workdps(110):
        assert abs(mpmath.mpf(rounded_gaussian._EXACT_PEAK) - 1 / mpmath.sqrt(2 * mpmath.pi)) < mpmath.mpf(10) ** -100


def halves() -> NDArray[np.float64]:
    """Edges of all half cells in which anything is drawn by chance."""
    return np.arange(-5 * 128, 5 * 128 + 1) / 128 - HALF_STEP


def chi_square(values: NDArray[np.int64], masses: NDArray[np.float64]) -> float:
    """The p-value of how the values fall into half cells, and on both sides of them."""
    seen = np.bincount(np.searchsorted(halves(), values / STEPS), minlength=masses.size)
    keep = masses * values.size > 20
    seen, due = (np.append(part[keep], part[~keep].sum()) for part in (seen, masses * values.size))
    return float(stats.chisquare(seen, due * values.size / due.sum()).pvalue)


def exact_masses() -> NDArray[np.float64]:
    return np.diff(stats.norm.cdf(halves()), prepend=0, append=1)


def test_draws_have_the_chances_of_the_rounded_gaussian_in_every_half_of_a_cell() -> None:
    """Without the rest, the p-value would be 0: so many draws tell the slope of the density within a cell."""
    assert chi_square(draw(4_000_000, SecureRandomness()), exact_masses()) > ALARM


@pytest.mark.parametrize("planned", [0, 1000, 3_000_000])
def test_draws_in_portions_have_the_same_chances_however_many_were_planned(planned: int) -> None:
    """Too little of the rest is drawn ahead, or none, or too much."""
    values, draws = np.empty(2_000_000), Draws(planned, SecureRandomness())
    for portion in np.array_split(values, 200):
        draws.fill(portion)
    assert chi_square(values.astype(np.int64), exact_masses()) > ALARM


def test_no_value_of_the_rest_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With marked values of the rest, all that are used come in the order in which they were drawn."""
    drawn = 0

    def marked(count: int, _: Randomness) -> NDArray[np.float64]:
        nonlocal drawn
        drawn += count
        return STEPS * 100 + np.arange(drawn - count, drawn)

    monkeypatch.setattr(rounded_gaussian, "draw_rest", marked)
    values, draws = np.empty(100_000), Draws(10_000, SecureRandomness())  # too little is drawn ahead
    for portion in np.array_split(values, 70):
        draws.fill(portion)
    used = values[values >= STEPS * 100] - STEPS * 100
    assert 500 < used.size <= drawn
    np.testing.assert_array_equal(used, np.arange(used.size))


def test_the_rest_has_the_chances_of_the_density_less_the_boxes() -> None:
    boxes = np.repeat(FLOORS, 2)[(REACH - 5) * 128 : -(REACH - 5) * 128] / 128
    masses = exact_masses() - np.concatenate([[0], boxes, [0]])
    assert masses.min() > 0
    assert chi_square(draw_rest(300_000, SecureRandomness()).astype(np.int64), masses / masses.sum()) > ALARM


def test_values_are_uniform_within_a_box() -> None:
    """So are those of the rest, nearly: in its cells the density is as good as straight."""
    within = draw(500_000, SecureRandomness()) & (2**32 - 1)
    for shift in (0, 8, 16, 24):  # each byte
        assert stats.chisquare(np.bincount(within >> shift & 255, minlength=256)).pvalue > ALARM


def test_mean_variance_and_tails_are_those_of_a_normal_distribution() -> None:
    """Five deviations each, and a Poisson test of the tail: a false alarm in 2e-6 of all runs at most."""
    count = 4_000_000
    values = draw(count, SecureRandomness()) / STEPS
    assert abs(values.mean()) < 5 / math.sqrt(count)
    assert abs(values.var() - 1) < 5 * math.sqrt(2 / count)
    beyond, due = int((np.abs(values) > 4.5).sum()), 2 * stats.norm.sf(4.5) * count  # 27
    assert stats.poisson.cdf(beyond, due) > ALARM
    assert stats.poisson.sf(beyond - 1, due) > ALARM
    assert np.abs(values).max() < REACH


class Later:
    """Gives 32 chosen bytes to whoever asks for more bits of a candidate, and counts."""

    def __init__(self, more: bytes) -> None:
        self._more, self.asked = more, 0

    def bits(self, count: int) -> bytes:
        assert count == 32
        self.asked += 1
        return self._more

    def begin(self, stretch: str) -> None: ...

    uniforms = normals = None  # type: ignore[assignment]


def height_of_density(value: int, cell: int) -> int:
    """The height, in units of 2^-64 of the envelope, in which the density passes."""
    with mpmath.workdps(60):
        above = density(value / STEPS) - mpmath.mpf(FLOORS[cell])
        return int(mpmath.floor(above / mpmath.mpf(TOPS[cell]) * 2**64))


def decided(value: int, height: int, source: Later) -> bool:
    place, words = np.array([value >> 32], dtype=np.int16), np.array([height], dtype=np.uint64)
    found = _lie_under_density(np.array([float(value)]), place, words, source)
    return bool(found[0])


CHOSEN = [int(value * 2**32) + 12_345 for value in (-300.7, -64.2, -1.5, -0.4, 0.3, 0.9, 1.2, 70.5, 200.25, 400.9)]


@pytest.mark.parametrize("value", CHOSEN)
def test_a_point_on_the_very_edge_of_the_density_is_decided_by_more_bits(value: int) -> None:
    cell = (value >> 32) - int(_PLACES[0])
    height = height_of_density(value, cell)
    for more in (bytes(32), b"\xff" * 32, SecureRandomness().bits(32)):
        source = Later(more)
        found = decided(value, height, source)
        assert source.asked == 1
        with mpmath.workdps(120):
            within, finer = (mpmath.mpf(int.from_bytes(part, "little")) / 2**128 for part in (more[:16], more[16:]))
            place = (mpmath.mpf(value) - mpmath.mpf(1) / 2 + within) / int(STEPS)
            point = mpmath.mpf(FLOORS[cell]) + (height + finer) / 2**64 * mpmath.mpf(TOPS[cell])
            assert found == (point < mpmath.npdf(place))


@pytest.mark.parametrize("value", CHOSEN)
def test_a_point_beside_the_edge_is_decided_at_once_and_as_more_bits_would(value: int) -> None:
    cell = (value >> 32) - int(_PLACES[0])
    height = height_of_density(value, cell)
    aside = int(2.0**64 * 2.0**-30 / TOPS[cell])
    for beside, under in ((height - aside, True), (height + aside, False)):
        if not 0 <= beside < 2**64:
            continue
        source = Later(bytes(32))
        assert decided(value, beside, source) == under
        assert source.asked == 0
        for more in (bytes(32), b"\xff" * 32):
            assert _exactly_under(value, beside, float(FLOORS[cell]), float(TOPS[cell]), more) == under


def test_equal_bits_give_equal_draws_and_none_costs_nothing() -> None:
    first, second, other = (draw(1000, SeededRandomness(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    assert draw(0, SecureRandomness()).size == draw_rest(0, SecureRandomness()).size == 0
