"""Reals through sums of integers: the grid, its bounds, and what travels."""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError, DomainError, OpeningFailed
from siloseal.federation.job.contributions import require_precision
from siloseal.federation.job.job import Job
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtSilo
from siloseal.federation.randomness import SecureRandomness, SeededRandomness
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.additive.sides import AdditiveSilo, shared_ring
from siloseal.federation.sums.fixed_point import FixedPoint, FixedPointSum, largest_point, to_points
from siloseal.federation.sums.in_process import InProcess, sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain, Session, Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.recorded import Recorded

SLACK = 1 + 2.0**-23
"""So far may an entry pass the bound, by rounding in single precision."""

PRECISIONS = [8, 20, 28, 40]
BOUNDS = [1e-3, 1.0, 3.7, 1e6]


def session_of(domain: Domain, silos: int, scheme: str = "any") -> Session:
    roster = tuple(f"silo{number}" for number in range(silos))
    return Session(bytes(32), roster, domain, scheme, silos, (bytes(32),) * silos)


def total_of(mechanism: FixedPoint, domain: RealDomain, vectors: list[NDArray[np.float64]]) -> Sum:
    """Through the mechanism alone: the sum of the integers is Python's own."""
    session, inner = session_of(domain, len(vectors)), mechanism.domain(domain, len(vectors))
    points = [mechanism.encode(domain.check(vector), session, SeededRandomness(0)) for vector in vectors]
    total = np.sum([inner.check(entries) for entries in points], axis=0) % inner.modulus
    return mechanism.decode(Sum(total, session.roster, 0.0), session, SecureRandomness())


def exact(vectors: list[NDArray[np.float64]]) -> list[Fraction]:
    return [sum(map(Fraction, entries), Fraction(0)) for entries in zip(*vectors, strict=True)]


def error_of(result: Sum, vectors: list[NDArray[np.float64]]) -> float:
    """The largest one, without rounding of its own."""
    found = zip(result.total.tolist(), exact(vectors), strict=True)
    return float(max(abs(Fraction(value) - true) for value, true in found))


class TestTheGrid:
    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_holds_the_bound_what_rounding_adds_to_it_and_zero(self, precision: int, bound: float) -> None:
        mechanism, domain = FixedPoint(precision), RealDomain(5, bound)
        vector = np.array([bound, -bound, bound * SLACK, -bound * SLACK, 0.0])
        result = total_of(mechanism, domain, [vector])
        assert error_of(result, [vector]) <= result.error_bound
        assert result.total[4] == 0

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_has_a_point_at_zero_and_ends_at_the_bound(self, precision: int, bound: float) -> None:
        """The lower end lies halfway between the first two points, and rounding takes it to either."""
        session = session_of(RealDomain(3, bound), 1)
        vector = np.array([-bound * SLACK, 0.0, bound * SLACK])
        lowest, *others = FixedPoint(precision).encode(vector, session, SeededRandomness(0)).tolist()
        assert lowest in (0, 1)
        assert others == [2**precision, 2 ** (precision + 1) - 1]
        assert largest_point(precision) == 2 ** (precision + 1) - 1

    @pytest.mark.parametrize("bits", [31, 32, 33])
    def test_is_the_same_at_every_place_of_a_long_vector(self, bits: int) -> None:
        """Entries are rounded in stretches of 2^15."""
        vector = np.random.default_rng(1).uniform(-1, 1, 2**15 + 7)
        session = session_of(RealDomain(vector.size, 1.0), 1)
        points = FixedPoint(bits).encode(vector, session, SeededRandomness(0))
        step = FixedPoint(bits).grid(RealDomain(1, 1.0))
        np.testing.assert_array_equal(points, np.rint(vector / step).astype(np.int64) + 2**bits)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_draws_nothing_and_leaves_the_silos_vector_alone(self, precision: int) -> None:
        vector = np.random.default_rng(2).uniform(-1, 1, 50)
        before, session = vector.copy(), session_of(RealDomain(50, 1.0), 1)
        first, second = (FixedPoint(precision).encode(vector, session, SeededRandomness(seed)) for seed in (1, 2))
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(vector, before)

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("bound", BOUNDS)
    def test_has_the_step_that_it_states(self, precision: int, bound: float) -> None:
        """One more in a total is one step more in what it stands for, and the grid just holds the bound."""
        mechanism, domain = FixedPoint(precision), RealDomain(2, bound)
        step, session = mechanism.grid(domain), session_of(domain, 1)
        values = mechanism.decode(
            Sum(np.array([2**precision, 2**precision + 1]), ("a",), 0.0), session, SecureRandomness()
        ).total
        assert values.tolist() == [0, step]
        assert step * (2**precision - 0.5) == pytest.approx(bound * SLACK, rel=1e-15)
        assert FixedPointSum(AdditiveSum(), precision).grid(domain) == step

    def test_is_the_coarser_of_two_where_noise_has_one_as_well(self) -> None:
        noise, domain = GaussianAtSilo(1.0, 1.0), RealDomain(1, 4.0)
        wide = noise.domain(domain, 1)
        assert isinstance(wide, RealDomain)
        for precision, expected in ((8, FixedPoint(8).grid(wide)), (40, noise.grid(domain))):
            assert NoisySum(noise, FixedPointSum(AdditiveSum(), precision)).grid(domain) == expected


class TestTheErrorOfASum:
    @given(
        precision=st.integers(8, 40),
        bound=st.floats(1e-6, 1e6),
        shares=st.lists(
            st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=3, max_size=3), min_size=1, max_size=6
        ),
    )
    @settings(max_examples=200, deadline=None)
    def test_stays_within_its_bound(self, precision: int, bound: float, shares: list[list[float]]) -> None:
        mechanism, domain = FixedPoint(precision), RealDomain(3, bound)
        vectors = [np.array(entries) * bound for entries in shares]
        result = total_of(mechanism, domain, vectors)
        assert error_of(result, vectors) <= result.error_bound

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("silos", [1, 3, 1000])
    def test_is_bounded_by_half_a_step_a_silo_and_next_to_nothing_more(self, precision: int, silos: int) -> None:
        domain = RealDomain(1, 3.7)
        halves = silos * FixedPoint(precision).grid(domain) / 2
        bound = total_of(FixedPoint(precision), domain, [np.zeros(1)] * silos).error_bound
        assert halves < bound <= halves * (1 + 2.0**-8)

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("silos", [1, 3, 100])
    def test_comes_within_a_factor_of_two_of_its_bound(self, precision: int, silos: int) -> None:
        """Entries halfway between two points, which all silos round in the same direction."""
        mechanism, domain = FixedPoint(precision), RealDomain(4, 1.0)
        halfway = (2 * np.array([0, 1, -3, 50]) + 0.5) * mechanism.grid(domain)
        result = total_of(mechanism, domain, [halfway] * silos)
        assert result.error_bound / 2 < error_of(result, [halfway] * silos) <= result.error_bound

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_is_nothing_where_all_are_zero(self, precision: int) -> None:
        result = total_of(FixedPoint(precision), RealDomain(7, 3.7), [np.zeros(7)] * 1000)
        assert result.total.tolist() == [0.0] * 7


class TestTheModulus:
    @given(precision=st.integers(8, 40), silos=st.integers(1, 5000))
    @example(precision=8, silos=513)  # 2^18 - 1, with fewer bits than the two factors have together
    @settings(deadline=None)
    def test_is_the_smallest_power_of_two_that_holds_the_sum(self, precision: int, silos: int) -> None:
        inner = FixedPoint(precision).domain(RealDomain(3, 1.0), silos)
        assert inner.length == 3
        assert inner.modulus & (inner.modulus - 1) == 0
        assert inner.modulus // 2 <= silos * largest_point(precision) < inner.modulus

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("sign", [1, -1])
    def test_is_not_passed_by_a_thousand_silos_that_all_send_the_largest_entry(self, precision: int, sign: int) -> None:
        domain = RealDomain(2, 3.7)
        vectors = [np.full(2, sign * 3.7 * SLACK)] * 1000
        result = total_of(FixedPoint(precision), domain, vectors)
        assert error_of(result, vectors) <= result.error_bound < 1000 * 3.7 / 2**precision

    @pytest.mark.parametrize("sign", [1, -1])
    def test_is_not_passed_by_a_sum_of_a_thousand_silos_either(self, sign: int) -> None:
        contributions = {f"silo{number:04d}": np.full(2, sign * 3.7) for number in range(1000)}
        result = sum_in_process(FixedPointSum(PlainSum(), 40), contributions, domain=RealDomain(2, 3.7))
        assert np.abs(result.total - sign * 3700.0).max() <= result.error_bound < 1e-8

    @pytest.mark.parametrize(
        ("bound", "silos"), [(math.inf, 2), (math.nan, 2), (0.0, 2), (-1.0, 2), (1e308, 1000), (1e-320, 2)], ids=str
    )
    def test_does_not_exist_for_a_bound_without_a_finite_total_or_without_exact_steps(
        self, bound: float, silos: int
    ) -> None:
        with pytest.raises(DomainError, match=rf"\b{silos} silos .* 20 bits"):
            FixedPoint(20).domain(RealDomain(3, bound), silos)
        with pytest.raises(DomainError):
            FixedPointSum(AdditiveSum(), 20).admit(RealDomain(3, bound), silos)

    def test_does_not_exist_for_a_vector_without_entries(self) -> None:
        with pytest.raises(DomainError):
            FixedPointSum(AdditiveSum(), 20).admit(RealDomain(0, 1.0), 3)

    def test_does_not_exist_where_words_of_64_bits_are_too_short(self) -> None:
        FixedPointSum(AdditiveSum(), 40).admit(RealDomain(1, 1.0), 1500)
        with pytest.raises(DomainError, match=r"4000 silos .*precision_bits"):
            FixedPointSum(AdditiveSum(), 40).admit(RealDomain(1, 1.0), 4000)


class TestTheWayBack:
    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("place", [0, 4])
    def test_refuses_a_total_that_its_contributors_cannot_reach(self, precision: int, place: int) -> None:
        """Three silos of five remained: it is their number that counts, and not the roster's."""
        mechanism, session = FixedPoint(precision), session_of(RealDomain(5, 1.0), 5)
        total = np.zeros(5, dtype=np.int64)
        total[place] = 3 * largest_point(precision)
        result = mechanism.decode(Sum(total, session.roster[:3], 0.0), session, SecureRandomness())
        assert result.total[place] == pytest.approx(3 * SLACK, abs=result.error_bound)
        assert result.contributors == session.roster[:3]
        total[place] += 1
        with pytest.raises(OpeningFailed):
            mechanism.decode(Sum(total, session.roster[:3], 0.0), session, SecureRandomness())

    @pytest.mark.parametrize(("excess", "refused"), [(0, False), (1, True)])
    def test_refuses_the_sum_with_a_silo_that_sent_more_than_its_domain_has(self, excess: int, refused: bool) -> None:
        """All entries are as large as they may be, and one silo's are a step beyond that."""
        domain, scheme = RealDomain(3, 1.0), FixedPointSum(AdditiveSum(), 20)
        parties = InProcess(scheme, dict.fromkeys("abc", np.full(3, SLACK)), domain=domain)
        inner = replace(parties.session, domain=FixedPoint(20).domain(domain, 3))
        points = np.full(3, largest_point(20) + excess)
        parties.silos["b"] = AdditiveSum().silo(inner, parties.identities["b"], points, SeededRandomness(9))
        with pytest.raises(OpeningFailed) if refused else nullcontext():
            parties.finish()

    def test_is_for_reals_only(self) -> None:
        session = session_of(IntegerDomain(3, 2**20), 2)
        with pytest.raises(DomainError, match="IntegerDomain"):
            FixedPoint(20).encode(np.zeros(3), session, SeededRandomness(0))
        with pytest.raises(DomainError, match="IntegerDomain"):
            FixedPoint(20).decode(Sum(np.zeros(3, dtype=np.int64), ("silo0",), 0.0), session, SecureRandomness())


def test_the_precision_is_part_of_what_the_silos_agree_on() -> None:
    schemes: list[SecureSum] = [FixedPointSum(AdditiveSum(), 20), FixedPointSum(AdditiveSum(), 21), AdditiveSum()]
    assert schemes[0].name == "fixed_point(precision_bits=20) over additive"
    assert len({session_of(RealDomain(3, 1.0), 2, scheme.name).digest for scheme in schemes}) == 3


class TestASumThatCarriesBoth:
    def test_takes_integers_as_they_are(self) -> None:
        domain = IntegerDomain(200, 1000)
        vectors = {silo: np.random.default_rng(number).integers(0, 1000, 200) for number, silo in enumerate("abc")}
        scheme = FixedPointSum(AdditiveSum(), 20)
        result = sum_in_process(scheme, vectors, domain=domain)
        np.testing.assert_array_equal(result.total, np.sum(list(vectors.values()), axis=0) % 1000)
        assert result.error_bound == 0
        assert scheme.grid(domain) == 0
        assert scheme.describe(domain, 3) == AdditiveSum().describe(domain, 3)

    def test_makes_the_integer_sums_own_sides_for_integers(self) -> None:
        parties = InProcess(FixedPointSum(AdditiveSum(), 20), [np.array([7, 9])] * 2, domain=IntegerDomain(2, 1000))
        assert all(isinstance(side, AdditiveSilo) for side in parties.silos.values())

    def test_says_how_precise_it_is_for_reals(self) -> None:
        rows = FixedPointSum(AdditiveSum(), 20).describe(RealDomain(3, 4.0), 3)
        assert rows["precision"] == "20 bits: an entry is rounded to multiples of 3.8e-06"
        assert rows["shares"].startswith("3 of each vector")

    def test_hides_and_needs_what_the_integer_sum_does(self) -> None:
        assert FixedPointSum(AdditiveSum(), 20).exposure == AdditiveSum.exposure
        assert FixedPointSum(PlainSum(), 20).exposure == PlainSum.exposure
        assert FixedPointSum(AdditiveSum(), 20).fewest(5) == 5
        assert FixedPointSum(PlainSum(), 20).fewest(5) == 1


class TestHiddenWeights:
    WEIGHTS: Mapping[str, int] = {"east": 36_000, "north": 12_000, "south": 400}
    DOMAIN = weighted_domain(50, bound=2.0)
    SCHEME = FixedPointSum(AdditiveSum(), 28)

    def contributions(self, vectors: Mapping[str, NDArray[np.float64]]) -> dict[str, Vector]:
        return {silo: weigh(vector, weight=self.WEIGHTS[silo], largest=100_000) for silo, vector in vectors.items()}

    def vectors(self) -> dict[str, NDArray[np.float64]]:
        draw = np.random.default_rng(1)
        return {silo: draw.uniform(-2, 2, 50) for silo in self.WEIGHTS}

    def test_give_the_weighted_mean(self) -> None:
        vectors = self.vectors()
        result = sum_in_process(self.SCHEME, self.contributions(vectors), domain=self.DOMAIN)
        expected = np.average(list(vectors.values()), axis=0, weights=list(self.WEIGHTS.values()))
        # The numerator is off by its bound, and so is the sum of the weights, which are 0.484 together.
        assert np.abs(mean_of(result.total) - expected).max() <= result.error_bound * (1 + 2.0) / 0.484 < 1e-6

    def test_are_told_to_nobody_in_clear(self) -> None:
        """Neither in the bytes that the aggregator hears, nor as an entry of an upload; by chance with 1e-7."""
        contributions = self.contributions(self.vectors())
        parties = Recorded(self.SCHEME, contributions, self.DOMAIN)
        parties.run()
        heard = [reply for replies in parties.said for reply in replies.values()]
        ring = shared_ring(FixedPoint(28).domain(self.DOMAIN, 3), 3)
        for silo, weight in self.WEIGHTS.items():
            assert not any(np.float64(weight / 100_000).tobytes() in reply for reply in heard)
            vector = np.asarray(contributions[silo], dtype=np.float64)
            points = FixedPoint(28).encode(vector, parties.session, SeededRandomness(0))
            upload = ring.values(ring.unpack(decode(pb.SumMessage, parties.said[-1][silo]).body))
            assert points[-1] not in upload
            assert not (points == upload).any()


@pytest.mark.parametrize("precision", [12, 20])
def test_the_precision_that_a_job_needs_is_reckoned_with_the_grid(
    small_job: Callable[..., Job], precision: int
) -> None:
    """A model travels scaled by examples / largest_silo, so that the silo's size decides."""
    chosen = {"kind": "additive", "precision_bits": precision}
    job = small_job(secure_sum=chosen, largest_silo=10**9)
    half_a_step = FixedPoint(precision).grid(weighted_domain(1, job.largest_weight)) / 2
    fewest = math.ceil(half_a_step * 10**9 / job.learner.coarsest)
    require_precision(job, "north", fewest)
    with pytest.raises(ConfigError, match=r"secure_sum\.precision_bits .* 1, "):
        require_precision(job, "north", fewest - 1)


@pytest.mark.parametrize("bits", [0, 52, 53, 16.5])
def test_a_grid_that_double_precision_cannot_count_is_refused(bits: int) -> None:
    with pytest.raises(DomainError):
        FixedPoint(bits).domain(RealDomain(3, 1.0), 2)


def test_the_finest_grid_counts_entries_that_rounding_lifted_above_the_bound() -> None:
    above = np.array([1.0, 1.0 + 2.0**-23, -1.0 - 2.0**-23])
    points = to_points(RealDomain(3, 1.0), above, 51)
    assert points.max() <= largest_point(51)
    assert points.min() >= 0
