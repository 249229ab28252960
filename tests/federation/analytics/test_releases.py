"""The noise that all queries of a job share: how the budget is split between counts and bits, and which kind is taken."""

from typing import Any

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import planned_epsilon, shared_noise

HISTOGRAM = {"kind": "histogram", "column": "sex", "values": ["f", "m"]}
MEAN = {"kind": "mean", "column": "age", "low": 0, "high": 100}
FREQUENT = {"kind": "heavy_hitters", "column": "ward"}
DISTINCT = {"kind": "distinct", "column": "age"}


def job(*queries: dict[str, Any], epsilon: float = 1.0, kind: str = "least", records: int = 1) -> AnalyticsJob:
    person = {} if records == 1 else {"person": {"column": "patient", "records": records}}
    return AnalyticsJob.model_validate({
        "name": "look",
        "data": {"kind": "csv", "folder": "."},
        "silos": {"names": ["north", "east", "south", "west"], "fewest": 3},
        "privacy": {"epsilon": epsilon, "delta": 1e-6, **person},
        "mechanism": {"kind": kind},
        "secure_sum": {"kind": "secagg"},
        "queries": list(queries),
    })  # fmt: skip


class TestBits:
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
    def test_they_spend_all_of_epsilon_where_nothing_else_is_asked(self, epsilon: float) -> None:
        asked = job(DISTINCT, epsilon=epsilon)
        assert 0.998 * epsilon < planned_epsilon(asked) <= epsilon

    def test_the_contrast_at_epsilon_1_is_close_to_the_best_that_any_count_could_give(self) -> None:
        """1 - 1/e for delta 0: epsilon is then the logarithm of 1 / (1 - contrast)."""
        assert shared_noise(job(DISTINCT)).contrast == pytest.approx(1 - 1 / 2.71828, rel=0.01)

    @pytest.mark.parametrize("others", [[HISTOGRAM], [HISTOGRAM, MEAN], [MEAN, FREQUENT]])
    def test_beside_counts_they_use_what_their_share_leaves_and_counts_lose_nothing(
        self, others: list[dict[str, Any]]
    ) -> None:
        """The share of a release is that of one more histogram, which tanh(1 / multiplier) stays below."""
        mixed, counts = job(DISTINCT, *others), job(HISTOGRAM, *others)
        noise = shared_noise(mixed)
        assert 0.998 < planned_epsilon(mixed) <= 1
        assert noise.multiplier == pytest.approx(shared_noise(counts).multiplier, rel=0.01)
        assert noise.contrast > 1.15 / noise.multiplier

    def test_those_of_a_person_with_several_records_stay_within_epsilon(self) -> None:
        asked = job(DISTINCT, MEAN, records=4)
        assert 0.998 < planned_epsilon(asked) <= 1
        assert shared_noise(asked).contrast < shared_noise(job(DISTINCT, MEAN)).contrast

    def test_some_flip_however_large_epsilon_is(self) -> None:
        assert shared_noise(job(DISTINCT, epsilon=500)).bits().spread(1) > 1e-8


class TestKind:
    QUERIES = (HISTOGRAM, MEAN)

    @pytest.mark.parametrize("epsilon", [0.2, 2.0, 20.0])
    def test_the_one_of_which_less_is_needed_is_taken(self, epsilon: float) -> None:
        chosen = shared_noise(job(*self.QUERIES, epsilon=epsilon))
        named = {kind: shared_noise(job(*self.QUERIES, epsilon=epsilon, kind=kind)) for kind in ("skellam", "ddg")}
        assert chosen == named[chosen.kind]
        assert chosen.multiplier == min(noise.multiplier for noise in named.values())

    def test_neither_wins_always(self) -> None:
        """Sums of few small discrete Gaussians are far from one; those of wide ones are not."""
        assert shared_noise(job(*self.QUERIES, epsilon=2.0)).kind == "ddg"
        assert shared_noise(job(HISTOGRAM, epsilon=20.0)).kind == "skellam"

    def test_a_job_keeps_the_kind_that_it_names(self) -> None:
        assert [shared_noise(job(*self.QUERIES, kind=kind)).kind for kind in ("skellam", "ddg")] == ["skellam", "ddg"]
