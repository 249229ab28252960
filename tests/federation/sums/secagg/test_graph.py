"""The graph of neighbours: recorded shapes, what degree and threshold keep, and a ring that nobody chose.

Each statistical test would raise a false alarm with one choice of its seeds in a million.
"""

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse.csgraph import connected_components

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.secagg.graph import Shape, _stays_connected, complete, find_shape, harary, whole_silos

from .published_shapes import published_shape

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "masked_sums.json").read_text())
RECORDED = [row for row in VECTORS if row["name"] == "secaggplus.harary_degree_threshold"]
CRITERIA = {"security_bits": 40, "correctness_bits": 30}
NAMES = tuple(f"hospital {number}" for number in range(100))
SEED = bytes(range(32))


def seeds(count: int) -> list[bytes]:
    return [number.to_bytes(32, "little") for number in range(count)]


def adjacency(graph: dict[str, tuple[str, ...]]) -> NDArray[np.bool_]:
    places = {silo: place for place, silo in enumerate(graph)}
    matrix = np.zeros((len(graph), len(graph)), dtype=np.bool_)
    for silo, neighbours in graph.items():
        matrix[places[silo], [places[neighbour] for neighbour in neighbours]] = True
    return matrix


def is_connected(matrix: NDArray[np.bool_]) -> bool:
    return bool(connected_components(matrix, directed=False)[0] == 1)


class TestShape:
    @pytest.mark.parametrize("row", RECORDED, ids=lambda row: str(row["inputs"]))
    def test_equals_the_recorded_one(self, row: dict[str, Any]) -> None:
        inputs = row["inputs"]
        shape = published_shape(
            inputs["n"],
            security_bits=inputs["sigma"],
            correctness_bits=inputs["eta"],
            corrupt=inputs["adversarial"],
            dropout=inputs["dropout"],
            lying=inputs["semi_malicious"],
        )
        assert shape == Shape(**row["expected"])

    @pytest.mark.parametrize(
        ("silos", "corrupt", "dropout", "lying", "correctness_bits", "expected"),
        [
            (1000, 0.33, 0.33, False, 20, Shape(286, 150)),
            (1000, 0.05, 0.33, False, 20, Shape(72, 24)),
            (1000, 0.05, 0.33, True, 20, Shape(398, 223)),
            (100, 0.2, 0.2, False, 30, Shape(42, 21)),
            (1000, 0.1, 0.1, False, 30, Shape(52, 28)),
            (1000, 0.33, 0.33, False, 30, Shape(310, 159)),
            (10_000, 0.33, 0.33, False, 30, Shape(480, 246)),
        ],
    )
    def test_equals_those_known_from_google_and_from_the_paper(
        self, silos: int, corrupt: float, dropout: float, lying: bool, correctness_bits: int, expected: Shape
    ) -> None:
        """Recomputed with scipy's hypergeometric distribution, as the recorded ones were."""
        assert expected == published_shape(
            silos, security_bits=40, correctness_bits=correctness_bits, corrupt=corrupt, dropout=dropout, lying=lying
        )

    @pytest.mark.parametrize("lying", [False, True])
    @pytest.mark.parametrize(("corrupt", "dropout"), [(0.05, 0.05), (0.3, 0.05), (0.05, 0.3), (0.25, 0.25)])
    def test_no_smaller_degree_serves(self, corrupt: float, dropout: float, lying: bool) -> None:
        """The search leaves out degrees; here every degree is tried, with scipy's distribution."""
        silos, bits = 150, 12
        corrupted, surviving = whole_silos(corrupt, silos), silos - whole_silos(dropout, silos)
        shape = published_shape(
            silos, security_bits=bits, correctness_bits=bits, corrupt=corrupt, dropout=dropout, lying=lying
        )
        for degree in range(2, shape.degree, 2):
            counts = np.arange(degree + 1)
            exceeded = stats.hypergeom.sf(counts, silos, corrupted, degree)
            too_few = int(counts[exceeded <= 2.0 ** -(bits + 1) / silos].min())
            if lying:
                too_few = int(np.ceil((too_few + degree - 1.25) / 2))
            missed = stats.hypergeom.cdf(counts - 1, silos, surviving, degree)
            reachable = int(counts[missed <= 2.0**-bits / silos].max())
            gone = silos - surviving + corrupted
            pairs = silos * (silos - degree - 1) / 2
            cut = pairs * float(stats.hypergeom.pmf(degree, silos, gone, degree))  # all of k given places are gone
            assert reachable <= too_few or cut >= 2.0 ** -(bits + 1)

    @pytest.mark.parametrize("silos", [100, 300, 1000, 10_000])
    @pytest.mark.parametrize("fraction", [0.05, 0.1])
    def test_a_lying_aggregator_costs_a_higher_degree_and_more_than_half_of_the_shares(
        self, silos: int, fraction: float
    ) -> None:
        honest = published_shape(silos, corrupt=fraction, dropout=fraction, lying=False, **CRITERIA)
        lying = published_shape(silos, corrupt=fraction, dropout=fraction, lying=True, **CRITERIA)
        assert lying.degree > honest.degree
        exceeding = 2 * lying.threshold - lying.degree  # so many corrupted neighbours would open both secrets
        corrupted = whole_silos(fraction, silos)
        assert silos * stats.hypergeom.sf(exceeding - 1, silos, corrupted, lying.degree) <= 2.0**-41

    @pytest.mark.parametrize(("corrupt", "dropout"), [(0.5, 0.5), (0.6, 0.2), (0.1, 0.9)])
    def test_fractions_that_no_degree_bears_are_refused(self, corrupt: float, dropout: float) -> None:
        with pytest.raises(DomainError, match=rf"1000 silos .* {corrupt} .* {dropout} .* 2 to 998 .* `kind: secagg`"):
            find_shape(1000, corrupt=corrupt, dropout=dropout, **CRITERIA)

    @pytest.mark.parametrize(("corrupt", "dropout"), [(-0.1, 0.1), (0.1, 1.0), (float("nan"), 0.1)])
    def test_what_is_no_fraction_is_refused(self, corrupt: float, dropout: float) -> None:
        with pytest.raises(DomainError, match="0 and 1"):
            find_shape(1000, corrupt=corrupt, dropout=dropout, **CRITERIA)

    @pytest.mark.parametrize(
        ("fraction", "silos", "expected"),
        [(0.29, 100, 29), (0.57, 100, 57), (0.33, 100, 33), (1 / 3, 3000, 1000), (0.1 + 0.2, 10, 3)],
    )
    def test_a_fraction_of_the_silos_is_the_one_that_was_meant(
        self, fraction: float, silos: int, expected: int
    ) -> None:
        assert whole_silos(fraction, silos) == expected

    @pytest.mark.parametrize(("fraction", "silos", "expected"), [(0.299, 100, 29), (0.05, 99, 4), (0.0, 7, 0)])
    def test_a_part_of_a_silo_does_not_count(self, fraction: float, silos: int, expected: int) -> None:
        assert whole_silos(fraction, silos) == expected


class TestCompleteGraph:
    def test_everyone_else_is_a_neighbour_in_the_rosters_order(self) -> None:
        assert complete(("c", "a", "b")) == {"c": ("a", "b"), "a": ("c", "b"), "b": ("c", "a")}


class TestRing:
    def test_the_recorded_graph_comes_out(self) -> None:
        """Every silo computes it by itself: two versions that differ here cannot sum together."""
        assert harary(("d", "a", "c", "e", "b", "f"), 2, SEED) == {
            "d": ("c", "e"),
            "a": ("e", "f"),
            "c": ("d", "b"),
            "e": ("d", "a"),
            "b": ("c", "f"),
            "f": ("a", "b"),
        }

    @pytest.mark.parametrize("degree", [2, 12, 52, 98])
    def test_is_symmetric_and_regular_and_connected_without_loops(self, degree: int) -> None:
        matrix = adjacency(harary(NAMES, degree, SEED))
        assert (matrix == matrix.T).all()
        assert (matrix.sum(axis=1) == degree).all()
        assert not matrix.diagonal().any()
        assert is_connected(matrix)

    def test_of_the_largest_degree_is_the_complete_graph(self) -> None:
        assert harary(NAMES[:7], 6, SEED) == complete(NAMES[:7])

    def test_lists_neighbours_in_the_rosters_order(self) -> None:
        for silo, neighbours in harary(NAMES, 12, SEED).items():
            assert neighbours == tuple(other for other in NAMES if other in neighbours and other != silo)

    def test_is_the_same_whatever_order_the_roster_has(self) -> None:
        forwards, backwards = harary(NAMES, 12, SEED), harary(NAMES[::-1], 12, SEED)
        assert {silo: neighbours[::-1] for silo, neighbours in backwards.items()} == forwards

    def test_changes_with_the_seed(self) -> None:
        assert harary(NAMES, 12, SEED) != harary(NAMES, 12, SEED[::-1])

    def test_what_a_caller_does_to_it_reaches_nobody_else(self) -> None:
        harary(NAMES, 12, SEED).clear()
        assert len(harary(NAMES, 12, SEED)) == len(NAMES)

    @pytest.mark.parametrize("degree", [0, 3, 100, 102, -2])
    def test_a_degree_that_a_ring_cannot_have_is_refused(self, degree: int) -> None:
        with pytest.raises(DomainError, match=f" {degree} neighbours"):
            harary(NAMES, degree, SEED)

    def test_all_rings_of_five_silos_come_equally_often(self) -> None:
        """Four silos in any of 24 orders after the fifth, of which a ring and its mirror image are one graph."""
        silos = NAMES[:5]
        drawn = Counter(tuple(sorted(harary(silos, 2, seed).items())) for seed in seeds(4800))
        assert len(drawn) == len(list(permutations(silos[1:]))) // 2
        assert stats.chisquare(list(drawn.values())).pvalue > 1e-6

    def test_two_silos_are_neighbours_as_often_as_chance_has_it(self) -> None:
        silos, degree = NAMES[:30], 8
        drawn = sum(silos[17] in harary(silos, degree, seed)[silos[4]] for seed in seeds(2000))
        expected = 2000 * degree / (len(silos) - 1)
        assert stats.chisquare([drawn, 2000 - drawn], [expected, 2000 - expected]).pvalue > 1e-6


CORRUPTED, GONE = 20, 20  # of 100 silos; who they are was settled before the ring
BITS = 4
TRIES = 2000


def most_failures(probability: float) -> int:
    """More of them than this come up with probability 1e-6, if each try fails with the one given."""
    return int(stats.binom.isf(1e-6, TRIES, probability))


@pytest.fixture(scope="module", params=[False, True], ids=["truthful", "lying"])
def lying(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def shape(lying: bool) -> Shape:
    return published_shape(len(NAMES), security_bits=BITS, correctness_bits=BITS, corrupt=0.2, dropout=0.2, lying=lying)


@pytest.fixture(scope="module")
def rings(shape: Shape) -> NDArray[np.bool_]:
    """(tries, silos, silos). The first silos are corrupted, the last drop out."""
    return np.stack([adjacency(harary(NAMES, shape.degree, seed)) for seed in seeds(TRIES)])


class TestNeighboursOverManyRings:
    """At a security of 4 bits failures are common enough to be counted. A worse threshold shows that they are."""

    def test_corrupted_ones_open_secrets_no_more_often_than_claimed(
        self, shape: Shape, rings: NDArray[np.bool_], lying: bool
    ) -> None:
        """t of them open a secret; where the aggregator lies, both open when 2 t <= k + corrupted neighbours."""
        corrupted = rings[:, CORRUPTED:, :CORRUPTED].sum(axis=2).max(axis=1)  # (tries,), at the worst honest silo

        def failures(threshold: int) -> int:
            return int(np.sum(corrupted >= (2 * threshold - shape.degree if lying else threshold)))

        assert failures(shape.threshold) <= most_failures(2.0 ** -(BITS + 1)) < failures(shape.threshold - 2)

    def test_too_few_survive_no_more_often_than_claimed(self, shape: Shape, rings: NDArray[np.bool_]) -> None:
        surviving = rings[:, :, :-GONE].sum(axis=2).min(axis=1)
        assert np.sum(surviving < shape.threshold) <= most_failures(2.0**-BITS)
        assert np.sum(surviving < shape.threshold + 3) > most_failures(2.0**-BITS)


class TestHonestSurvivors:
    def test_are_cut_apart_no_more_often_than_claimed(self) -> None:
        """By the least degree that keeps half of the silos connected at 4 bits; other needs ask for a higher one."""
        gone = len(NAMES) // 2
        degree = next(degree for degree in range(2, 99, 2) if _stays_connected(len(NAMES), gone, degree, BITS))

        def failures(degree: int) -> int:
            rings = (adjacency(harary(NAMES, degree, seed)) for seed in seeds(TRIES))
            return sum(not is_connected(ring[gone:, gone:]) for ring in rings)

        assert failures(degree) <= most_failures(2.0**-BITS) < failures(degree - 6)

    def test_stay_connected_and_out_of_reach_at_full_security(self) -> None:
        shape = published_shape(len(NAMES), corrupt=0.2, dropout=0.2, lying=False, **CRITERIA)
        for seed in seeds(300):
            ring = adjacency(harary(NAMES, shape.degree, seed))
            assert is_connected(ring[CORRUPTED:-GONE, CORRUPTED:-GONE])
            assert ring[CORRUPTED:, :CORRUPTED].sum(axis=1).max() < shape.threshold
            assert ring[:, :-GONE].sum(axis=1).min() >= shape.threshold
