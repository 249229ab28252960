"""A simulation on another device. None is here: `cpu:0` is the processor under another name, which nothing may notice.

What training does for another device, it does for this one. What a graphics processor computes is not tried.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import siloseal
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.randomness import SeededRandomness
from siloseal.runs.run import run_job
from siloseal.silo.training.device import CPU

NAMES = ["north", "east", "south"]
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 1, "tuning_steps": 2}
MOVED = list[torch.device]()
"""Devices that learners were moved to."""


def model(job: Job, folder: Path, device: torch.device) -> bytes:
    run_job(job, folder, randomness_of=lambda name: SeededRandomness(NAMES.index(name)), device=device)
    return (folder / "global.safetensors").read_bytes()


@pytest.mark.parametrize("learner", [{"kind": "gan", "latent": 8}, {"kind": "classifier", "model": "mlp"}])
def test_moving_to_the_same_processor_changes_no_bit(
    small_job: Callable[..., Job], tmp_path: Path, learner: dict[str, object]
) -> None:
    job = small_job(learner=learner, schedule=SHORT, evaluation={})
    assert model(job, tmp_path / "other", torch.device("cpu", 0)) == model(job, tmp_path / "run", CPU)


@pytest.mark.parametrize("device", ["cuda", "tpu", 3])
def test_a_device_that_is_not_there_is_refused_before_anything_is_written(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: object
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError):
        siloseal.simulate(small_job(), tmp_path / "run", device=device)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
