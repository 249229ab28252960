"""Rounds to a target accuracy are counted as the FedAvg paper counts them, and a run ends there."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from siloseal.experiments.comparison.measurements.rounds import RoundsMeasurement, rounds_to
from siloseal.federation.job.job import Job


@pytest.mark.parametrize(
    ("accuracies", "expected"),
    [
        ([0.1, 0.5, 0.9], 1.5),
        ([0.1, 0.6, 0.3, 0.9], pytest.approx(2 + 0.1 / 0.3)),  # from the best so far, and not from the last
        ([0.1, 0.7], 1.0),
        ([0.8], 0.0),
        ([0.1, 0.69, 0.2], None),
        ([], None),
    ],
)
def test_a_target_is_crossed_between_two_rounds(accuracies: list[float], expected: float | None) -> None:
    assert rounds_to(0.7, accuracies) == expected


def job(**changes: Any) -> Job:
    values = {
        "name": "few",
        "data": {"kind": "digits"},
        "silos": {"count": 4},
        "learner": {"kind": "classifier", "model": "mlp"},
        "optimizer": {"kind": "dp_sgd", "learning_rate": 0.2},
        "privacy": {"kind": "none"},
        "warm_start": {"kind": "none"},
        "schedule": {"kind": "fedavg", "rounds": 30, "fraction": 0.5, "batch": 10},
        "secure_sum": {"kind": "plain"},
    }
    return Job.model_validate({**values, **changes})


def test_a_run_ends_at_its_target(tmp_path: Path) -> None:
    rows = RoundsMeasurement(kind="rounds", job=job(), target=0.6).run(tmp_path)
    accuracies = [row.value for row in rows if row.measure == "accuracy"]
    assert 1 < len(accuracies) < 31
    assert accuracies[-1] >= 0.6 > max(accuracies[:-1])
    assert [row.value for row in rows if row.measure == "rounds_to_target"] == [rounds_to(0.6, accuracies)]
    assert [row.value for row in rows if row.measure == "rounds"] == [len(accuracies) - 1]
    assert not list(tmp_path.rglob("*.sqlite")), "a cell that is interrupted begins anew"


def test_a_target_that_is_not_reached_is_not_counted(tmp_path: Path) -> None:
    schedule = {"kind": "fedavg", "rounds": 2, "fraction": 0.5, "batch": 10}
    rows = RoundsMeasurement(kind="rounds", job=job(schedule=schedule), target=0.999).run(tmp_path)
    assert [row.stage for row in rows if row.measure == "accuracy"] == ["warm_start", "round_1", "round_2"]
    assert not [row for row in rows if row.measure == "rounds_to_target"]


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": {"kind": "two_phase", "batch": 10, "local_steps": 3}},
        {"learner": {"kind": "gan", "generator": "mlp", "discriminator": "mlp"}},
    ],
    ids=["another schedule", "another learner"],
)
def test_only_rounds_of_averaging_a_classifier_are_counted(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RoundsMeasurement(kind="rounds", job=job(**changes))
