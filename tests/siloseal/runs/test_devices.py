"""A simulation on another device. None is here: `cpu:0` is the processor under another name, which nothing may notice.

What training does for another device, it does for this one. What a graphics processor computes is not tried.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import siloseal
from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.federation.randomness import SeededRandomness
from siloseal.models.user_code.loading import load_code
from siloseal.models.user_code.places import look_in
from siloseal.runs.run import run_job
from siloseal.silo.training.device import CPU

NAMES = ["north", "east", "south"]
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 1, "tuning_steps": 2}
MOVING = UserCode("python", "moving_learner:Moving", source=None)

look_in(Path(__file__).parent)  # where the learner of a user's own lies


@pytest.fixture
def moved() -> Iterator[list[torch.device]]:
    """Devices that learners of the user's own class were moved to."""
    devices: list[torch.device] = load_code(MOVING).moved  # type: ignore[attr-defined]
    devices.clear()
    yield devices
    devices.clear()


def model(job: Job, folder: Path, device: torch.device) -> bytes:
    run_job(job, folder, randomness_of=lambda name: SeededRandomness(NAMES.index(name)), device=device)
    return (folder / "global.safetensors").read_bytes()


def test_every_silo_trains_on_the_device_alone_and_pooled_too(
    small_job: Callable[..., Job], moved: list[torch.device], tmp_path: Path
) -> None:
    job = small_job(
        learner={"kind": "python", "target": MOVING.target}, schedule=SHORT,
        evaluation={"silo_alone": True, "pooled": True},
    )  # fmt: skip
    run_job(job, tmp_path / "other", device=torch.device("cpu", 0))
    assert moved == [torch.device("cpu", 0)] * (3 + 3 + 1)
    moved.clear()
    run_job(job, tmp_path / "run")
    assert moved == []


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
