"""A network and a learner of a user's own in simulations: from a file beside the job, or in the current folder."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import siloseal
from siloseal.federation.config.loading import load_config, to_yaml
from siloseal.federation.job.job import Job
from siloseal.models.user_code import places
from siloseal.models.user_code.source import source_of
from siloseal.runs.demo import _prepare
from siloseal.runs.simulation import deal
from siloseal.silo.data.loading import load

NET = """\
from torch import nn


def build(shape, classes):
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, classes))
"""
LEARNER = """\
import siloseal
from torch import nn


class Regression(siloseal.ModuleLearner):
    def __init__(self, shape, classes, options):
        super().__init__(nn.Sequential(nn.Flatten(), nn.Linear(shape[1] * shape[2], 1)))
        self.scale = options["scale"]

    def row_losses(self, rows):
        return (self.private_module(rows.inputs).squeeze(1) - rows.labels / self.scale).square()

    def measure(self, rows):
        return 1 - min(1.0, float((self.shared_model(rows.inputs).squeeze(1) - rows.labels / self.scale).square().mean()))
"""
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 20, "tuning_rounds": 1, "tuning_steps": 2}


@pytest.fixture
def current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, for as long as a test lasts; nothing else is looked in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "_FOLDERS", [])
    return tmp_path


def sections(learner: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"learner": learner, "evaluation": {}, "schedule": SHORT, **others}


def test_a_network_in_the_current_folder_is_planned_run_recorded_and_loaded(
    current: Path, small_job: Callable[..., Job]
) -> None:
    (current / "simulated_net.py").write_text(NET)
    job = small_job(**sections({"kind": "classifier", "model": "simulated_net:build"}))
    plan, summary = siloseal.plan(job), siloseal.simulate(job, "run")
    assert plan.code == f"classifier:simulated_net:build@{source_of('simulated_net:build').digest}"
    assert plan.code in summary.parameters.values()
    assert summary.accuracy["final"] > summary.accuracy["warm_start"]
    network = siloseal.load_model("run")
    assert isinstance(network[0], torch.nn.Conv2d)  # type: ignore[index]


def test_a_learner_of_ones_own_is_trained_and_measures_itself(current: Path, small_job: Callable[..., Job]) -> None:
    (current / "simulated_learner.py").write_text(LEARNER)
    learner = {"kind": "python", "target": "simulated_learner:Regression", "options": {"scale": 9}}
    summary = siloseal.simulate(small_job(**sections(learner)), "run")
    assert summary.accuracy["warm_start"] < summary.accuracy["final"] <= 1
    assert isinstance(siloseal.load_model("run"), torch.nn.Sequential)


def test_the_command_finds_a_file_beside_the_job(current: Path, small_job: Callable[..., Job]) -> None:
    """A fresh interpreter that has the current folder not on its path, as the installed command."""
    (folder := current / "jobs").mkdir()
    (folder / "beside.py").write_text(NET)
    job = small_job(**sections({"kind": "classifier", "model": "beside:build"}))
    (folder / "job.yaml").write_text(to_yaml(job))
    command = [sys.executable, "-P", "-m", "siloseal", "plan", "jobs/job.yaml", "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert yaml.safe_load(shown)["code"].startswith("classifier:beside:build@sha256:")


def test_the_demo_names_the_digest_itself_and_tells_every_process_where_the_file_is(
    current: Path, small_job: Callable[..., Job]
) -> None:
    (current / "demonstrated.py").write_text(NET)
    places.look_in(Path())
    job = small_job(**sections({"kind": "classifier", "model": "demonstrated:build"}))
    train, _ = load(job.data)
    commands = _prepare(job, deal(job, train), current / "run", current / "kits")
    digest = source_of("demonstrated:build").digest
    assert load_config(Job, current / "kits" / "aggregator" / "job.yaml").learner.source == digest  # type: ignore[union-attr]
    for party, (_, _, path, _) in commands.items():
        config = yaml.safe_load(Path(path).read_text())
        assert config["code"] == str(current.resolve())
        assert party == "aggregator" or config["policy"]["learners"] == [f"classifier:demonstrated:build@{digest}"]
