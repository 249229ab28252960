"""The epoch from which on one encrypted sum is cheaper than a scheme that sums every round."""

import pytest

from siloseal.experiments.report.chapters.slides import OURS
from siloseal.experiments.report.chapters.traffic_figures import break_even, named

OTHER = "SecAgg every round"


@pytest.mark.parametrize(
    ("ours", "theirs", "epoch"),
    [
        ({1: 10, 2: 11, 3: 12}, {1: 5, 2: 10, 3: 15}, 3),
        ({1: 10, 2: 11, 3: 12}, {1: 11, 2: 10, 3: 15}, 3),
        ({1: 4, 2: 5}, {1: 5, 2: 10}, 1),
        ({1: 10, 2: 11}, {1: 5, 2: 11}, None),
        ({1: 10}, {2: 20}, None),
        ({}, {1: 5}, None),
    ],
    ids=["crosses", "crosses twice", "from the start", "equal", "no epoch in common", "not measured"],
)
def test_ours_breaks_even_where_it_stays_cheaper(
    ours: dict[int, float], theirs: dict[int, float], epoch: int | None
) -> None:
    assert break_even({OURS: ours, OTHER: theirs}, OTHER) == epoch


def test_a_picture_is_named_after_its_model_where_there_are_several() -> None:
    assert named("growth", "") == "growth"
    assert named("growth", "CNN (28x28)") == "growth-CNN-28x28"
