"""Every case of the benchmark is a job, and a few silos give every figure."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "thousand_silos.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("case", ["mlp, C=0.1, E=5", "ddg"])
def test_a_case_gets_every_figure(script: dict[str, Any], case: str) -> None:
    found = script["measure"](script["CASES"][case], 30, 1)
    assert min(found.setup_s, found.round_s, found.finish_s, found.plain_s, found.memory_mb) > 0
    assert found.ratio == found.round_s / found.plain_s


def test_every_case_is_a_job_of_a_thousand_silos(script: dict[str, Any]) -> None:
    jobs = [case.job(1000, 4) for case in script["CASES"].values()]
    assert {len(job.silos.names) for job in jobs} == {1000}
    assert {job.noise.kind for job in jobs} == {"none", "gaussian_central", "ddg", "skellam", "pbm"}


def test_the_plain_training_moves_the_model(script: dict[str, Any]) -> None:
    job = script["Case"](model="logistic", fraction=0.5).job(4, 1)
    parts = {name: script["images"](number) for number, name in enumerate(job.silos.names)}
    start = np.zeros(7850, dtype=np.float32)
    average = script["train_plainly"](job, parts, 1, start)
    assert average.shape == (7850,)
    assert torch.isfinite(average).all()
    assert average.abs().max() > 0
