"""Answers are exact without noise, and their intervals hold with it.

Each coverage test repeats a query 200 times under seeded noise. An interval that covers 95 % of the time falls below
90 % of 200 with a chance of 0.12 %; the seeds are fixed, so a test that passes once always does.
"""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.analytics.distinct import Distinct, linear_count
from siloseal.federation.analytics.heavy_hitters import HeavyHitters
from siloseal.federation.analytics.histogram import Histogram
from siloseal.federation.analytics.mean import Mean
from siloseal.federation.analytics.quantiles import Quantiles
from siloseal.federation.analytics.query import Answer, Estimate
from siloseal.federation.analytics.shared_noise import SharedNoise

REPEATS, ENOUGH = 200, 0.9
RNG = np.random.default_rng(5)
AGES = [np.clip(RNG.normal(centre, 12, size), 0, 100) for centre, size in ((40, 500), (55, 800), (62, 300))]
POOLED = np.concatenate(AGES)
NOISES = [SharedNoise("skellam", 4.0, 0.2, honest=2), SharedNoise("ddg", 4.0, 0.2, honest=2)]
IDS = [noise.kind for noise in NOISES]

Exactly = Callable[..., Answer]
Noisily = Callable[..., Answer]


def texts(*words: str) -> np.ndarray:
    return np.array(words, dtype=object)


def by_name(answer: Answer) -> dict[str, Estimate]:
    return {estimate.name: estimate for estimate in answer.estimates}


def coverage(answers: list[Answer], name: str, truth: float) -> float:
    return float(np.mean([by_name(answer)[name].low <= truth <= by_name(answer)[name].high for answer in answers]))


HISTOGRAM = Histogram(kind="histogram", column="x", values=("a", "b", "never"))
WORDS = [texts(*["a"] * 120, *["b"] * 40, "c"), texts(*["a"] * 80, *["c"] * 50), texts(*["b"] * 9)]
MEAN = Mean(kind="mean", column="x", low=0, high=100)
QUANTILES = Quantiles(kind="quantiles", column="x", low=0, high=100, shares=(0.1, 0.5, 0.9))


class TestWithoutNoise:
    def test_a_histogram_is_exact_and_all_records_are_in_it(self, answer_exactly: Exactly) -> None:
        found = by_name(answer_exactly(HISTOGRAM, WORDS))
        assert {name: one.high for name, one in found.items()} == {"a": 200, "b": 49, "never": 0, "(other)": 51}
        assert found["a"].value == found["a"].low == 200

    def test_a_mean_and_a_variance_are_exact_to_the_grid(self, answer_exactly: Exactly) -> None:
        found = by_name(answer_exactly(MEAN, AGES))
        assert found["records"].value == len(POOLED)
        assert found["mean"].value == pytest.approx(POOLED.mean(), abs=50 / 1024)
        assert found["variance"].value == pytest.approx(POOLED.var(), abs=2 * 50**2 / 1024)
        assert found["mean"].low <= POOLED.mean() <= found["mean"].high
        assert found["variance"].low <= POOLED.var() <= found["variance"].high

    def test_quantiles_are_exact_to_a_leaf(self, answer_exactly: Exactly) -> None:
        found = by_name(answer_exactly(QUANTILES, AGES))
        for share in QUANTILES.shares:
            truth, one = float(np.quantile(POOLED, share, method="inverted_cdf")), found[f"{share:g}"]
            assert one.value == pytest.approx(truth, abs=100 / 2**8)
            assert one.low <= truth <= one.high
            assert one.high - one.low <= 4 * 100 / 2**8

    def test_numbers_outside_the_range_count_as_its_ends(self, answer_exactly: Exactly) -> None:
        column = np.array([-1e300, 0.0, 1e300, 100.0])
        assert by_name(answer_exactly(MEAN, [column]))["mean"].value == 50
        assert by_name(answer_exactly(QUANTILES, [column]))["0.9"].high == 100

    def test_linear_counting_has_its_recorded_value(self) -> None:
        assert linear_count(1024, 400) == pytest.approx(962.5674326952665, rel=1e-12)

    def test_frequent_texts_are_found_letter_by_letter(self, answer_exactly: Exactly) -> None:
        query = HeavyHitters(kind="heavy_hitters", column="x", letters=4, most=100)
        columns = [texts(*["flu"] * 50, *["asthma", ""] * 10), texts(*["Flu", "asthenia", "a?"] * 10)]
        found = by_name(answer_exactly(query, columns))
        assert {name: one.value for name, one in found.items()} == {
            "flu": 60,
            "asth…": 20,
            "(empty)": 10,
            "a\N{REPLACEMENT CHARACTER}": 10,
        }


@pytest.mark.parametrize("noise", NOISES, ids=IDS)
class TestIntervalsHold:
    def test_of_a_histogram(self, noise: SharedNoise, answer_noisily: Noisily) -> None:
        answers = [answer_noisily(HISTOGRAM, WORDS, noise, seed) for seed in range(REPEATS)]
        for name, truth in {"a": 200, "b": 49, "never": 0, "(other)": 51}.items():
            assert coverage(answers, name, truth) >= ENOUGH

    def test_of_mean_variance_and_records(self, noise: SharedNoise, answer_noisily: Noisily) -> None:
        answers = [answer_noisily(MEAN, AGES, noise, seed) for seed in range(REPEATS)]
        for name, truth in {"mean": POOLED.mean(), "variance": POOLED.var(), "records": len(POOLED)}.items():
            assert coverage(answers, name, truth) >= ENOUGH
        widths = [one.high - one.low for answer in answers for one in answer.estimates if one.name == "mean"]
        assert np.median(widths) < 4  # of a range of 100, from 1,600 records: an answer, not an excuse

    def test_of_quantiles(self, noise: SharedNoise, answer_noisily: Noisily) -> None:
        answers = [answer_noisily(QUANTILES, AGES, noise, seed) for seed in range(REPEATS)]
        for share in QUANTILES.shares:
            truth = float(np.quantile(POOLED, share, method="inverted_cdf"))
            assert coverage(answers, f"{share:g}", truth) >= ENOUGH
        widths = [one.high - one.low for answer in answers for one in answer.estimates if one.name == "0.5"]
        assert np.median(widths) < 12


class TestTooFew:
    @pytest.mark.parametrize("query", [MEAN, QUANTILES], ids=["mean", "quantiles"])
    def test_what_the_noise_hides_has_no_value_but_an_interval(
        self, query: Mean | Quantiles, answer_noisily: Noisily
    ) -> None:
        answer = answer_noisily(query, [np.array([30.0])] * 3, NOISES[0], 0)
        assert "too few" in answer.remark
        first = answer.estimates[0]
        assert (first.value, first.low, first.high) == (None, 0, 100)

    def test_a_count_within_the_noise_is_not_shown(self, answer_noisily: Noisily) -> None:
        found = by_name(answer_noisily(HISTOGRAM, [texts("a")] * 3, NOISES[0], 0))
        assert found["never"].value is None
        assert found["never"].note == "too few to tell"


class TestHeavyHitters:
    QUERY = HeavyHitters(kind="heavy_hitters", column="x", letters=5, most=20)
    COLUMNS = (
        texts(*["aspirin"] * 150, *["ibuprofen"] * 90, *["rare"] * 3),
        texts(*["aspirin"] * 100, *["insulin"] * 120, *[f"one{number}" for number in range(50)]),
        texts(*["insulin"] * 60, *["asa"] * 80),
    )

    def test_frequent_texts_are_found_and_false_ones_are_rare(self, answer_noisily: Noisily) -> None:
        """No false text in 95 % of the queries at least; in all of these 50, because the bound is a wide one."""
        answers = [answer_noisily(self.QUERY, self.COLUMNS, NOISES[0], seed) for seed in range(50)]
        truth = {"aspir…": 250, "insul…": 180, "ibupr…": 90, "asa": 80}
        for answer in answers:
            assert set(by_name(answer)) <= set(truth)
        for name, count in truth.items():
            found = [by_name(answer)[name] for answer in answers if name in by_name(answer)]
            assert len(found) >= 45
            assert (
                np.mean([one.low <= count <= one.high for one in found]) >= 0.85
            )  # of 45 or more, at 95 %: 0.7 % below it

    def test_it_ends_early_where_nothing_lives(self, answer_noisily: Noisily) -> None:
        answer = answer_noisily(self.QUERY, [texts("a", "b")] * 3, NOISES[0], 0)
        assert answer.estimates == ()
        assert "nothing is frequent enough" in answer.remark

    def test_no_more_prefixes_live_than_are_allowed(self, answer_exactly: Exactly) -> None:
        query = HeavyHitters(kind="heavy_hitters", column="x", letters=2, most=2)
        found = by_name(answer_exactly(query, [texts(*["aa", "aa", "ab", "ba", "ba", "ba", "ca"] * 10)]))
        assert set(found) == {"aa…", "ba…"}


class TestDistinct:
    QUERY = Distinct(kind="distinct", column="x", cells=4096)
    COLUMNS = tuple(texts(*(f"patient {number}" for number in range(start, start + 1500))) for start in (0, 1000, 2000))
    TRUTH = 3500  # a thousand of them at two silos

    @pytest.mark.parametrize(("contrast", "expected_error"), [(0.76, 227.0), (0.32, 830.8)])
    def test_values_of_several_silos_count_once_and_the_interval_holds(
        self, contrast: float, expected_error: float, answer_noisily: Noisily
    ) -> None:
        """The error is what the text of distinct.py says, sqrt(m) e^t / (1 - 2 f), within a quarter."""
        noise = SharedNoise("skellam", 1.0, contrast, honest=2)
        answers = [answer_noisily(self.QUERY, self.COLUMNS, noise, seed) for seed in range(REPEATS)]
        assert coverage(answers, "values", self.TRUTH) >= ENOUGH
        stated = 64 * np.exp(self.TRUTH / 4096) / (1 - 2 * noise.bits().spread(3))
        assert stated == pytest.approx(expected_error, rel=1e-3)
        values = np.array([by_name(answer)["values"].value for answer in answers])
        spread = (np.quantile(values, 0.84) - np.quantile(values, 0.16)) / 2
        assert spread == pytest.approx(stated, rel=0.25)
        assert np.median(values) == pytest.approx(self.TRUTH, abs=3 * stated / np.sqrt(REPEATS) + 80)

    def test_more_values_than_the_cells_can_tell_are_said_to_be_so(self, answer_noisily: Noisily) -> None:
        query = Distinct(kind="distinct", column="x", cells=64)
        answer = answer_noisily(query, self.COLUMNS, SharedNoise("skellam", 1.0, 0.76, honest=2), 0)
        assert "take more cells" in by_name(answer)["values"].note
