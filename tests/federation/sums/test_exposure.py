"""What a scheme says about who learns what: its numbers, and how noise changes it. Attacks are in tests/experiments."""

import pytest

from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.fixed_point import FixedPointSum
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.one_key.one_key_sum import PaillierSum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.secagg.secagg_sum import FEWEST_FOR_A_RING, RandomRing, SecAggSum
from siloseal.federation.sums.secure_sum import SecureSum
from tests.contracts.schemes import ALL_SCHEMES, name_of

HIDING = SecAggSum()


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=name_of)
class TestEveryScheme:
    @pytest.mark.parametrize("silos", [3, 4, 10, FEWEST_FOR_A_RING, 250])
    def test_lets_so_many_collude_that_two_honest_silos_are_left(self, scheme: SecureSum, silos: int) -> None:
        assert 0 <= scheme.exposure.may_collude(silos) <= silos - 2

    def test_lets_nobody_collude_where_the_aggregator_needs_nobody(self, scheme: SecureSum) -> None:
        if not scheme.exposure.hides_contributions:
            assert scheme.exposure.may_collude(10) == 0

    def test_says_what_it_assumes_where_a_liar_has_uploads_opened(self, scheme: SecureSum) -> None:
        assert scheme.exposure.assumes or not scheme.exposure.opens_what_it_is_given

    def test_has_a_line_for_every_question(self, scheme: SecureSum) -> None:
        rows = scheme.exposure.rows(10, scheme.fewest(10))
        assert all(rows.values())
        assert rows["who may collude"].endswith(f"n = 10 silos, {scheme.exposure.may_collude(10)}")
        assert rows["a silent silo"].endswith(f"n = 10 silos, {10 - scheme.fewest(10) or 'none'}")

    @pytest.mark.parametrize("by", [NoisedBy.EACH_SILO, NoisedBy.SILOS_TOGETHER])
    def test_shows_silos_the_sum_with_the_noise_that_silos_have_added(self, scheme: SecureSum, by: NoisedBy) -> None:
        noised = scheme.exposure.noised(by).silo_learns
        assert ("noised" in noised) == scheme.exposure.shows_silos_the_exact_sum


@pytest.mark.parametrize(
    ("scheme", "silos", "most"),
    [
        (CkksSum(), 10, 3),
        (CkksSum(threshold=9), 10, 7),
        (SecAggSum(threshold=2), 3, 0),
        (AdditiveSum(), 10, 8),
        (RingSum(), 10, 1),
        (SecAggSum(ring=RandomRing()), 99, 34),
        (SecAggSum(ring=RandomRing(corrupt=0.29)), 100, 29),  # floats say 28.999
        (PaillierSum(), 10, 0),
    ],
    ids=str,
)
def test_the_number_of_silos_that_may_collude(scheme: SecureSum, silos: int, most: int) -> None:
    assert scheme.exposure.may_collude(silos) == most


class TestNoise:
    def test_of_each_silo_protects_what_no_sum_hides(self) -> None:
        exposure = NoisySum(GaussianAtSilo(1.0, 1.0), PlainSum()).exposure
        assert not exposure.hides_contributions
        assert exposure.noised_by is NoisedBy.EACH_SILO
        assert exposure.assumes == ""

    def test_that_silos_split_trusts_some_of_them(self) -> None:
        assert "mechanism.colluding" in HIDING.exposure.noised(NoisedBy.SILOS_TOGETHER).assumes

    @pytest.mark.parametrize("inner", [HIDING, PlainSum()], ids=lambda scheme: scheme.name)
    def test_of_the_aggregators_trusts_it(self, inner: SecureSum) -> None:
        exposure = NoisySum(GaussianAtAggregator(None, 1.0, 1.0), inner).exposure
        assert "exact" in exposure.aggregator_learns
        assert "the aggregator" in exposure.assumes

    def test_adds_to_what_a_sum_assumes(self) -> None:
        inner = JointKeySum().exposure
        assert inner.noised(NoisedBy.AGGREGATOR).assumes.startswith(inner.assumes)

    def test_keeps_the_rest(self) -> None:
        inner = HIDING.exposure
        for by in NoisedBy:
            noised = inner.noised(by)
            assert noised.may_collude(10) == inner.may_collude(10)
            assert noised.if_a_silo_is_silent == inner.if_a_silo_is_silent

    def test_that_is_only_rounding_changes_nothing(self) -> None:
        assert FixedPointSum(AdditiveSum(), 20).exposure is AdditiveSum.exposure
