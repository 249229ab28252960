"""Silos that are served alike are seldom told apart, at any number of silos and records; one that is worse is named."""

import numpy as np
import pytest
from scipy import stats

from siloseal.models.evaluation.classification import mix_records, mixed_accuracy
from siloseal.run_folder.chance import FALSE_ALARMS, chance_of_lower, chances_of_worst
from siloseal.run_folder.classification import ClassificationMetric

DRAWS = 2000
"""At a true rate of 5 % the measured one lies above 7 % in fewer than one of 10,000 seeds."""
MARGIN = 0.02
UNEQUAL = [8, 30, 100, 100, 400]


def metric(shares: list[float], records: list[int], *, own_records: bool = True) -> ClassificationMetric:
    names = [f"silo{number}" for number in range(len(shares))]
    return ClassificationMetric(
        recall=[], precision=[], records=[], calibration_error=0.0, own_records=own_records,
        by_silo=dict(zip(names, shares, strict=True)), silo_records=dict(zip(names, records, strict=True)),
    )  # fmt: skip


def draw(generator: np.random.Generator, chances: list[float], records: list[int]) -> ClassificationMetric:
    right = generator.binomial(records, chances)
    return metric((right / records).tolist(), records)


class TestTheExactTest:
    @pytest.mark.parametrize(
        ("right", "records", "others", "of"),
        [(12, 20, 18, 20), (0, 3, 40, 50), (89, 100, 180, 200), (7, 8, 990, 1000), (5_800, 10_000, 54_000, 90_000),
         (2, 40, 5, 6)],
    )  # fmt: skip
    def test_is_fishers(self, right: int, records: int, others: int, of: int) -> None:
        table = [[right, records - right], [others, of - others]]
        found = chance_of_lower(right / records, records, than=others / of, of=of)
        assert found == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue, rel=1e-6)

    def test_what_is_not_lower_has_a_chance_of_one(self) -> None:
        assert chance_of_lower(0.9, 10_000, than=0.1, of=10_000) == chance_of_lower(1.0, 5, than=1.0, of=5) == 1.0

    def test_what_is_far_lower_has_none(self) -> None:
        assert chance_of_lower(0.1, 10_000, than=0.9, of=10_000) == pytest.approx(0.0, abs=1e-300)


class TestSilosThatAreServedAlike:
    @pytest.mark.parametrize(
        ("accuracy", "records"),
        [(0.9, [100] * 2), (0.9, [100] * 3), (0.9, [100] * 10), (0.5, [2000] * 10), (0.9, UNEQUAL), (0.99, UNEQUAL)],
    )
    def test_have_a_worst_in_at_most_five_percent_of_runs(self, accuracy: float, records: list[int]) -> None:
        generator = np.random.default_rng(1)
        named = [draw(generator, [accuracy] * len(records), records).worst_silo for _ in range(DRAWS)]
        assert np.mean([one is not None for one in named]) <= FALSE_ALARMS + MARGIN

    @pytest.mark.parametrize("silos", [3, 10])
    @pytest.mark.parametrize("evenness", [0.3, 3.0])
    def test_nor_where_their_mixes_of_classes_share_the_held_out_records(self, silos: int, evenness: float) -> None:
        """Ten classes of unlike sizes, all as hard: mixes differ, accuracies are the same but for chance."""
        generator, counts = np.random.default_rng(2), (20, 30, 30, 40, 40, 50, 60, 70, 80, 80)
        mixes = generator.dirichlet([evenness] * len(counts), size=silos)
        records, alarms = [mix_records(counts, mix) for mix in mixes], 0
        for _ in range(DRAWS):
            recall = tuple((generator.binomial(counts, 0.85) / counts).tolist())
            shares = [mixed_accuracy(recall, mix) or 0.0 for mix in mixes]
            alarms += metric(shares, records, own_records=False).worst_silo is not None
        assert alarms / DRAWS <= FALSE_ALARMS + MARGIN

    def test_others_that_share_records_count_less_than_others_that_do_not(self) -> None:
        shares, records = {"a": 0.8, "b": 0.88, "c": 0.88}, {"a": 100, "b": 100, "c": 100}
        together, apart = (chances_of_worst(shares, records, shared=shared)["a"] for shared in (True, False))
        assert together == pytest.approx(3 * chance_of_lower(0.8, 100, than=0.88, of=100))
        assert apart == pytest.approx(3 * chance_of_lower(0.8, 100, than=0.88, of=200))
        assert apart < together


class TestASiloThatIsWorse:
    @pytest.mark.parametrize("silos", [2, 3, 10])
    def test_is_named(self, silos: int) -> None:
        generator = np.random.default_rng(3)
        found = [draw(generator, [0.6] + [0.9] * (silos - 1), [200] * silos).worst_silo for _ in range(100)]
        assert set(found) == {"silo0"}

    def test_is_named_although_a_small_one_has_a_lower_number_by_chance(self) -> None:
        found = metric([0.5, 0.7, 0.9, 0.9], [2, 500, 500, 500])
        assert found.worst_silo == "silo1"
        assert found.chance < 1e-6

    def test_is_not_told_without_numbers_of_records(self) -> None:
        unknown = metric([0.1, 0.9], [0, 0])
        assert unknown.worst_silo is None
        assert unknown.chance == metric([0.4], [100]).chance == 1.0
