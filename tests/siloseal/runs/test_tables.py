"""Whole runs on tables: a classifier and a regression, dealt or with a file for each silo, with privacy for every record."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.config.loading import load_config
from siloseal.federation.errors import DataError
from siloseal.federation.job.job import Job
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.model_files import read_model
from siloseal.models.user_code.places import look_in
from siloseal.run_folder.run import read_run
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.plan import make_plan
from siloseal.runs.run import run_job
from siloseal.runs.simulation import declared_labels, simulated_data
from siloseal.silo.data.embedded import tumours

NAMES = ["north", "east", "south"]
COLUMNS = ["worst radius", "worst texture", "worst concave points", "diagnosis"]
RADIUS = {"name": "worst radius", "kind": "number", "range": [5, 40]}
TEXTURE = {"name": "worst texture", "kind": "number", "range": [10, 50]}
POINTS = {"name": "worst concave points", "kind": "number", "range": [0, 0.3]}
DIAGNOSIS = {"name": "diagnosis", "kind": "category", "values": ["benign", "malignant"]}
CLASSIFIER: dict[str, Any] = {
    "name": "tumours", "seed": 3, "silos": {"names": NAMES}, "optimizer": {"kind": "dp_adam", "learning_rate": 0.2},
    "learner": {"kind": "classifier", "model": "logistic", "average_decay": 0.9},
    "privacy": {"kind": "example_level", "epsilon": 8, "delta": 1e-4}, "warm_start": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 40, "local_steps": 60, "tuning_rounds": 1, "tuning_steps": 10},
    "secure_sum": {"kind": "plain"},
}  # fmt: skip
TABLE: dict[str, Any] = {"kind": "csv", "columns": [RADIUS, TEXTURE, POINTS], "target": DIAGNOSIS}
look_in(Path(__file__).parent)  # where the learner of a user's own lies
REGRESSION = {"kind": "python", "target": "mean_squares:MeanSquares"}


def write(path: Path, places: Sequence[int]) -> Path:
    """Some of the tumours as a CSV file; every tenth radius is missing."""
    table = tumours()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for place in places:
            row = [table.columns[name][place] for name in COLUMNS]
            writer.writerow(["" if place % 10 == 0 else row[0], *row[1:]])
    return path


def tumour_job(data: dict[str, Any], **sections: Any) -> Job:
    radius = {**RADIUS, "missing": "indicator"}
    document = {**TABLE, "columns": [radius, TEXTURE, POINTS], **data}
    return Job.model_validate({**CLASSIFIER, "data": document, **sections})


def run(job: Job, folder: Path) -> RunSummary:
    return run_job(job, folder, randomness_of=lambda name: SeededRandomness(NAMES.index(name)))


def final(folder: Path) -> float:
    (score,) = (metric for metric in read_run(folder).quality if metric.stage == "final" and not metric.silo)
    return next(iter(score.accuracy.values()))


def test_a_classifier_learns_a_dealt_table_with_privacy_for_every_record(tmp_path: Path) -> None:
    job = tumour_job({"file": str(write(tmp_path / "all.csv", range(569)))})
    summary = run(job, tmp_path / "run")
    assert summary.epsilon is not None
    assert 0 < summary.epsilon <= 8
    assert sum(silo.examples or 0 for silo in summary.silos) == round(0.8 * 569)
    assert final(tmp_path / "run") > 0.85, "malignant tumours are 37 %"


def test_a_file_for_each_silo_is_not_dealt(tmp_path: Path) -> None:
    sizes = {"north": range(200), "east": range(200, 300), "south": range(300, 569)}
    for name, places in sizes.items():
        write(tmp_path / f"{name}.csv", places)
    job = tumour_job({"folder": str(tmp_path)})
    data = simulated_data(job)
    assert {name: len(part) + len(data.held_out_of[name]) for name, part in data.parts.items()} == {
        name: len(places) for name, places in sizes.items()
    }
    assert len(data.held_out) == sum(map(len, data.held_out_of.values()))
    assert len(data.train) == sum(map(len, data.parts.values()))
    run(job, tmp_path / "run")
    assert final(tmp_path / "run") > 0.8
    found, network = read_run(tmp_path / "run"), read_model(tmp_path / "run" / "global.safetensors").network
    assert found.summary.details is not None
    for name, own in data.held_out_of.items():
        right = (network(own.inputs).argmax(1) == own.labels).float().mean()
        assert found.summary.details.by_silo[name] == pytest.approx(float(right))
    assert not [note.text for note in found.notes if "mix of classes" in note.text]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "mix of classes" not in page
    (tmp_path / "east.csv").unlink()
    with pytest.raises(DataError):
        simulated_data(job)


def test_a_regression_learns_a_measured_target_with_privacy_for_every_record(tmp_path: Path) -> None:
    """The radius follows from texture and concave points by about two thirds of its variance, without privacy."""
    measured = {"columns": [TEXTURE, POINTS], "target": {**RADIUS, "missing": "leave_out"}}
    job = tumour_job({"file": str(write(tmp_path / "all.csv", range(569))), **measured}, learner=REGRESSION)
    data = simulated_data(job)
    assert (data.train.classes, len(data.train) + len(data.held_out)) == (0, 569 - 57)
    assert 0 <= data.train.labels.min() <= data.train.labels.max() <= 1
    assert declared_labels(job, data.train) == []
    summary = run(job, tmp_path / "run")
    assert summary.epsilon is not None
    assert 0 < summary.epsilon <= 8
    assert final(tmp_path / "run") > 0.4


def test_a_plan_of_a_regression_costs_what_its_run_does(tmp_path: Path) -> None:
    measured = {"columns": [TEXTURE, POINTS], "target": {**RADIUS, "missing": "leave_out"}}
    job = tumour_job({"file": str(write(tmp_path / "all.csv", range(569))), **measured}, learner=REGRESSION)
    plan = make_plan(job, simulated_data(job).parts, workers=1)
    assert plan.parameters == 3
    assert all(cost.epsilon and cost.epsilon["total"] <= 8.001 for cost in plan.silos)


def test_the_shipped_table_job_runs(tmp_path: Path) -> None:
    job = load_config(Job, Path(__file__).parents[3] / "configs" / "table-classifier.yaml")
    quick = job.model_copy(
        update={"evaluation": job.evaluation.model_copy(update={"silo_alone": False, "pooled": False})}
    )
    summary = run(quick, tmp_path / "run")
    assert summary.epsilon is not None
    assert summary.epsilon <= 3
    assert final(tmp_path / "run") > 0.85
