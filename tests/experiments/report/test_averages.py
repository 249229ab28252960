"""Means over seeds against known numbers."""

import math

import pytest
from scipy import stats

from siloseal.experiments.comparison.rows import Measured, Row
from siloseal.experiments.report.averages import a_silo, accuracy, at, choices, totals, varied
from siloseal.report.intervals import Mean, bands, mean

VALUES = [0.61, 0.58, 0.66, 0.63]


def cell(seed: int, *rows: Row, **labels: str | float) -> Measured:
    return Measured(comparison="c", cell=str(seed), labels=labels, seed=seed, rows=rows)


def test_an_interval_is_that_of_students_t() -> None:
    found = mean(VALUES)
    assert found is not None
    low, high = stats.t.interval(0.95, df=3, loc=sum(VALUES) / 4, scale=stats.sem(VALUES))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    assert mean([1.0, 3.0]) == Mean(2.0, pytest.approx(12.706204736432095), 2)  # t of one degree of freedom times 1


def test_one_seed_has_no_interval_and_the_caption_says_so() -> None:
    alone = mean([0.5])
    assert alone == Mean(0.5, None, 1)
    assert alone.text() == "0.500"
    assert "no confidence interval" in bands([alone])
    several = mean(VALUES)
    assert several is not None
    assert "over 4 seeds" in bands([several])
    assert "A point of one seed has none" in bands([alone, several])
    assert not alone.apart(several)
    assert mean([]) is None


def test_the_same_seeds_are_compared_seed_by_seed() -> None:
    """The seeds differ by 0.3, and hide a difference of 0.02 from intervals that are looked at apart."""

    def measured(values: tuple[float, ...], first: int = 0) -> Mean:
        rows = [Row(measure="accuracy", value=value, stage="final", detail="cnn") for value in values]
        found = accuracy([cell(first + number, row) for number, row in enumerate(rows)], "final")
        assert found is not None
        return found

    lower, higher = measured((0.5, 0.6, 0.8)), measured((0.521, 0.62, 0.819))
    assert higher.apart(lower)
    assert lower.apart(higher)
    assert not measured((0.521, 0.62, 0.819), first=7).apart(lower)  # other seeds have nothing in common
    assert not measured((0.55, 0.58, 0.82)).apart(lower)  # +0.05, -0.02, +0.02


def test_intervals_that_meet_are_not_apart() -> None:
    assert Mean(0.6, 0.02, 3).apart(Mean(0.5, 0.07, 3))
    assert not Mean(0.6, 0.02, 3).apart(Mean(0.5, 0.09, 3))


def test_cells_are_chosen_by_label_and_numbers_come_in_order() -> None:
    cells = [cell(0, silos=10, data="IID"), cell(1, silos=2, data="skew"), cell(2, silos=10.0, data="IID")]
    assert choices(cells, "silos") == [2, 10]
    assert choices(cells, "data") == ["IID", "skew"]
    assert choices(cells, "absent") == []
    assert [one.seed for one in at(cells, silos=10)] == [0, 2]
    assert varied(cells) == ["silos", "data"]


def test_bytes_are_summed_by_cell_and_shared_by_its_silos() -> None:
    rows = [
        Row(measure="sent_bytes", value=10 * n, stage=f"round {n}", silo=silo) for n in (1, 2) for silo in ("a", "b")
    ]
    cells = [cell(0, *rows), cell(1)]
    assert totals(cells, ["sent_bytes"]) == [60]
    assert a_silo(cells, ["sent_bytes"]) == [30]
    assert a_silo(cells, ["sent_bytes"], stage="round 2") == [20]


def test_accuracy_is_that_of_the_first_classifier_and_of_no_silo() -> None:
    rows = (
        Row(measure="accuracy", value=0.7, stage="final", detail="cnn"),
        Row(measure="accuracy", value=0.1, stage="final", detail="mlp"),
        Row(measure="accuracy", value=0.2, stage="final", detail="cnn", silo="north"),
    )
    found = accuracy([cell(0, *rows)], "final")
    assert found is not None
    assert math.isclose(found.value, 0.7)
    assert accuracy([cell(0, *rows)], "pooled") is None
