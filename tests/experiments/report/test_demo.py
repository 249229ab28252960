"""The README's picture and table of the demo, from a run that a job of the same shape made."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from siloseal.experiments.report import demo
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.run_folder.images import read_npz
from siloseal.run_folder.run import read_run
from siloseal.runs.printable_run import printable_run
from siloseal.runs.run import run_job


def test_the_picture_the_table_and_the_text_are_the_runs(
    tmp_path: Path, small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 2, "tuning_rounds": 0}
    dealt = {"names": ["north", "east"], "partition": {"kind": "by_class", "classes_per_silo": 6}}
    job = small_job(
        silos=dealt, schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100, "silo_alone": True}
    )
    summary = run_job(job, tmp_path / "run", workers=1)
    run = read_run(tmp_path / "run")
    drawn = demo.chapter(run, tmp_path / "figures", dpi=100)
    assert drawn.figures[0].message == (
        "A silo alone can draw 6 of the 10 digits at most, the federation all of them (accuracy "
        f"{summary.final_accuracy:.3f}, best silo alone {summary.best_silo_accuracy:.3f})"
    )
    assert (tmp_path / "figures" / "demo-digits.png").is_file()
    stages = [f"{value:.3f}" for value in summary.accuracy.values()]
    others = [f"{value:.3f}" for value in (summary.best_silo_accuracy, summary.real_data_accuracy)]
    assert [value for _, value in drawn.tables[0].rows] == [*stages, *others]
    assert f"epsilon {summary.epsilon:.2f} at delta 1e-5 at most" in drawn.lead
    assert "epsilon 20.00 at delta 2e-5 for one example" in drawn.lead, "with the silos' own models, twice"
    samples = demo.samples_of(run)
    assert list(samples) == ["north alone", "east alone", "federation"]
    for silo in summary.silos:
        images, labels = samples[f"{silo.name} alone"]
        assert sorted(set(labels.tolist())) == silo.labels
        assert np.array_equal(images, read_npz(tmp_path / "run" / "samples" / f"silo_alone.{silo.name}.npz")[0])
    assert set(samples["federation"][1].tolist()) == set(range(10))
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path / "run"), str(tmp_path / "shown")])
    demo.main()
    printed = (tmp_path / "shown" / "printed.txt").read_text()
    assert printed == f"{printable_run(run)}\n"
    assert "Accuracy (" in printed
    assert (tmp_path / "shown" / "report.md").is_file()


def test_a_class_that_a_silo_does_not_have_is_an_empty_row() -> None:
    images, labels = np.zeros((3, 1, 2, 2), dtype=np.uint8), np.array([0, 2, 2])
    rows = demo.class_rows_of(images, labels, np.arange(3))
    black = (rows[0] == 0).sum(axis=1)
    assert black.tolist() == [2, 2, 0, 0, 0, 0, 4, 4]  # two pixels, a gap, two pixels, ...
    assert set(rows.ravel().tolist()) == {0, 255}  # on white paper


def test_a_row_is_named_at_its_middle() -> None:
    assert [demo.row_middle(8, row) for row in range(2)] == [3.5, 12.5]  # images of 8 pixels, and a gap of one


def test_a_run_without_the_silos_own_pictures_is_refused(tmp_path: Path, small_job: Callable[..., Job]) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 1, "tuning_rounds": 0}
    job = small_job(schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100, "silo_alone": False})
    run_job(job, tmp_path / "run", workers=1)
    with pytest.raises(RunError, match="north"):
        demo.chapter(read_run(tmp_path / "run"), tmp_path / "figures")
