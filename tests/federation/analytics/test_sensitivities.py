"""How far one record moves what a silo sends: as stated, against adding and removing records one by one."""

import math

import numpy as np
import pytest

from siloseal.federation.analytics.distinct import Distinct
from siloseal.federation.analytics.heavy_hitters import HeavyHitters
from siloseal.federation.analytics.histogram import Histogram
from siloseal.federation.analytics.mean import Mean
from siloseal.federation.analytics.quantiles import Quantiles
from siloseal.federation.analytics.query import Column, NoisyTotal, Progress, Query

NUMBERS = [-7.0, -1.0, -0.999, -0.5, -1e-9, 0.0, 0.25, 0.5, 0.9999, 1.0, 42.0]
WORDS = ["", "a", "ab", "abc", "abcd", "b", "ba", "Ab", "a!", "zzz", "ünder"]


def moves(query: Query, records: Column, progress: Progress) -> list[np.ndarray]:
    """Moves by every record that is taken away, and by every one that is added a second time."""
    whole = query.count(records, progress)
    less = [whole - query.count(np.delete(records, place), progress) for place in range(len(records))]
    more = [query.count(np.append(records, record), progress) - whole for record in records]
    return less + more


def require_bounds(query: Histogram | Mean | Quantiles | HeavyHitters, found: list[np.ndarray]) -> None:
    """The bounds hold, and are reached: anything smaller would be wrong, anything larger a waste."""
    largest = {order: max(float(np.linalg.norm(move, order)) for move in found) for order in (1, 2, math.inf)}
    assert largest[2] == pytest.approx(query.move.l2, rel=1e-12)
    assert largest[1] == pytest.approx(query.move.l1, rel=1e-12)
    assert largest[math.inf] == pytest.approx(query.move.linf, rel=1e-12)
    assert max(move.size for move in found) <= query.move.coordinates


def words() -> np.ndarray:
    return np.array(WORDS, dtype=object)


def test_of_a_histogram() -> None:
    query = Histogram(kind="histogram", column="x", values=("a", "ab", "never"))
    require_bounds(query, moves(query, words(), Progress()))


def where_rounding_changes(steps: int) -> np.ndarray:
    """Numbers in [-1, 1] just behind each point where u or u^2 - 1, in steps, is rounded to another integer."""
    halves = (np.arange(steps) + 0.5) / steps
    return np.concatenate([side * edge * (1 + sign * 1e-12) for edge in (halves, np.sqrt(halves)) for side in (-1, 1)
                           for sign in (-1, 1)])  # fmt: skip


@pytest.mark.parametrize("steps", [16, 37, 100])
def test_of_a_mean(steps: int) -> None:
    query = Mean(kind="mean", column="x", low=-1, high=1, steps=steps)
    require_bounds(query, moves(query, np.concatenate([NUMBERS, where_rounding_changes(steps)]), Progress()))


def test_of_a_mean_over_a_lopsided_range() -> None:
    query = Mean(kind="mean", column="x", low=0.1, high=0.7, steps=200)
    require_bounds(query, moves(query, 0.4 + 0.3 * np.append(NUMBERS, where_rounding_changes(200)), Progress()))


@pytest.mark.parametrize("steps", [16, 1024, 65_536])
def test_of_a_mean_is_that_of_its_formula_but_for_rounding(steps: int) -> None:
    """K sqrt(2) and 9/4 K; rounding adds about 1 / (8 K) of the first and two steps to the second at most."""
    move = Mean(kind="mean", column="x", low=0, high=1, steps=steps).move
    assert math.sqrt(2) * steps < move.l2 <= math.sqrt(2) * steps * (1 + 0.2 / steps)
    assert 9 / 4 * steps <= move.l1 <= 9 / 4 * steps + 2


@pytest.mark.parametrize("depth", [2, 5, 9])
def test_of_quantiles(depth: int) -> None:
    query = Quantiles(kind="quantiles", column="x", low=-1, high=1, depth=depth)
    require_bounds(query, moves(query, np.array(NUMBERS), Progress()))


def test_of_heavy_hitters_in_every_release() -> None:
    query = HeavyHitters(kind="heavy_hitters", column="x", alphabet="abc", letters=3, most=20)
    progress = Progress()
    for _ in range(query.releases):
        require_bounds(query, moves(query, words(), progress))
        everything_lives = np.full(query.length(progress), 1e9)
        progress = progress.after(NoisyTotal(everything_lives, 1.0))


def test_of_a_distinct_count_one_cell_of_a_silo_is_set_or_not() -> None:
    query = Distinct(kind="distinct", column="x", cells=64)
    found = moves(query, words(), Progress(key=bytes(32)))
    assert max(np.abs(move).sum() for move in found) == 1
    assert set(np.concatenate([query.count(words(), Progress(key=bytes(32)))])) == {0, 1}
