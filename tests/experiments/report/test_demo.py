"""The README's picture and table of the demo, from a run that a job of the same shape made."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from experiments.report import demo
from federation.config.job import Job
from federation.errors import RunError
from siloseal.console import Console
from siloseal.runs import run_job
from siloseal.summary import read_run


def test_the_picture_and_the_table_are_the_runs(tmp_path: Path, small_job: Callable[..., Job]) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 2, "tuning_rounds": 0}
    dealt = {"names": ["north", "east"], "partition": {"kind": "by_class", "classes_per_silo": 5}}
    job = small_job(
        silos=dealt, schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100, "silo_alone": True}
    )
    with Console(quiet=True, json=False) as console:
        summary = run_job(job, tmp_path / "run", console, workers=1)
    drawn = demo.chapter(read_run(tmp_path / "run"), tmp_path / "figures", dpi=100)
    assert drawn.figures[0].message == (
        f"Alone, no silo draws more than 5 of the 10 digits; together they draw all (accuracy "
        f"{summary.final_accuracy:.3f}, best silo alone {summary.best_silo_accuracy:.3f})"
    )
    assert drawn.tables[0].rows[-2:] == (
        ("Best silo alone, at the same epsilon", f"{summary.best_silo_accuracy:.3f}"),
        ("Real data instead of generated", f"{summary.real_data_accuracy:.3f}"),
    )
    assert drawn.figures[0].png.is_file()


def test_a_class_that_a_silo_does_not_have_is_an_empty_row() -> None:
    images, labels = np.full((3, 1, 2, 2), 255, dtype=np.uint8), np.array([0, 2, 2])
    rows = demo.class_rows_of(images, labels, np.arange(3))
    assert rows[0].sum(axis=1).tolist() == [510, 510, 0, 0, 0, 0, 1020, 1020]  # two pixels, a gap, two pixels, ...


def test_a_run_without_the_silos_own_pictures_is_refused(tmp_path: Path, small_job: Callable[..., Job]) -> None:
    schedule = {"kind": "two_phase", "batch": 16, "local_steps": 1, "tuning_rounds": 0}
    job = small_job(schedule=schedule, evaluation={"classifiers": ["logistic"], "samples": 100, "silo_alone": False})
    with Console(quiet=True, json=False) as console:
        run_job(job, tmp_path / "run", console, workers=1)
    with pytest.raises(RunError, match="no samples of silo_alone"):
        demo.chapter(read_run(tmp_path / "run"), tmp_path / "figures")
