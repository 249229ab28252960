"""A network and a learner of a user's own in simulations: from a file beside the job, or in the current folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import siloseal
from siloseal.federation.config.loading import load_config, to_yaml
from siloseal.federation.errors import CodeMismatch, ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network
from siloseal.models.model_files import model_file
from siloseal.models.user_code import places
from siloseal.models.user_code.source import source_of
from siloseal.report.wording import NOT_MEASURED
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
    begun = load_config(Job, Path("run/config.yaml"))  # another source is another job, with which no run goes on
    assert str(begun.learner.code) == plan.code
    assert summary.accuracy["final"] > summary.accuracy["warm_start"]
    network = siloseal.load_model("run")
    assert isinstance(network[0], torch.nn.Conv2d)  # type: ignore[index]


@pytest.mark.parametrize("local", [[], ["3.*"]], ids=["shared", "local"])
def test_a_network_of_ones_own_is_compared_with_silos_alone_and_with_pooled_records(
    current: Path, small_job: Callable[..., Job], local: list[str]
) -> None:
    name = f"compared_{len(local)}"
    (current / f"{name}.py").write_text(NET)
    learner = {"kind": "classifier", "model": f"{name}:build", "local": local}
    evaluation = {"silo_alone": True, "pooled": True}
    job = small_job(**sections(learner, evaluation=evaluation, privacy={"kind": "none"}))
    summary = siloseal.simulate(job, "run")
    assert {"final", "pooled"} <= {metric.stage for metric in siloseal.read_run("run").quality}
    assert all(silo.accuracy_alone is not None for silo in summary.silos)
    assert summary.personal is bool(local)
    assert (current / "run" / "report.html").is_file()


def test_a_file_outside_of_its_run_is_used_if_the_caller_names_its_code(
    current: Path, small_job: Callable[..., Job]
) -> None:
    (current / "used_net.py").write_text(NET)
    siloseal.simulate(small_job(**sections({"kind": "classifier", "model": "used_net:build"})), "run")
    own = current / "run" / "silos" / "north" / "global.safetensors"
    alone, rows = shutil.copy(own, current / "model.safetensors"), np.zeros((2, 1, 8, 8), dtype=np.float32)
    np.savez(current / "rows.npz", images=rows)
    inside = siloseal.predict(own, rows).probabilities  # the run's job names the code
    assert np.array_equal(siloseal.predict(alone, rows, code="used_net:build").probabilities, inside)
    assert np.array_equal(siloseal.predict(alone, "rows.npz", code="used_net:build").probabilities, inside)
    siloseal.export(alone, "model.pt2", to="torch", code="used_net:build")
    for code in (None, "used_net:other"):
        with pytest.raises(ConfigError, match="used_net:build"):
            siloseal.predict(alone, rows, code=code)
        with pytest.raises(ConfigError, match="used_net:build"):
            siloseal.export(alone, "other.pt2", to="torch", code=code)


def test_a_simulated_model_is_not_used_with_code_that_has_changed_since(
    current: Path, small_job: Callable[..., Job]
) -> None:
    """The job names no digest; the model's file does."""
    (current / "edited_net.py").write_text(NET)
    siloseal.simulate(small_job(**sections({"kind": "classifier", "model": "edited_net:build"})), "run")
    np.savez(current / "rows.npz", images=np.zeros((2, 8, 8), dtype=np.uint8))
    (current / "edited_net.py").write_text(NET.replace("nn.ReLU()", "nn.Tanh()"))
    for use in (
        lambda: siloseal.load_model("run"),
        lambda: siloseal.predict("run", "rows.npz"),
        lambda: siloseal.predict("run", "rows.npz", code="edited_net:build"),
        lambda: siloseal.export("run", "model.pt2", to="torch"),
    ):
        with pytest.raises(CodeMismatch):
            use()


@pytest.mark.parametrize("command", [("predict", "--data", "rows.npz"), ("export", "--to", "torch", "--out", "m.pt2")])
def test_the_commands_take_the_name_of_the_code(current: Path, command: tuple[str, ...]) -> None:
    code = f"typed_{command[0]}:build"
    (current / f"typed_{command[0]}.py").write_text(NET)
    learner = ClassifierConfig(kind="classifier", model=code)
    places.look_in(Path())
    network = build_network(learner, (1, 8, 8), 10, seed=1)
    (current / "model.safetensors").write_bytes(model_file(learner, (1, 8, 8), 10, network))
    np.savez(current / "rows.npz", images=np.zeros((2, 8, 8), dtype=np.uint8))
    line = [sys.executable, "-P", "-m", "siloseal", *command, "--model", "model.safetensors"]
    refused = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 2
    assert code in refused.stderr
    subprocess.run([*line, "--code", code], capture_output=True, check=True, timeout=120)


@pytest.mark.parametrize(
    ("module", "brought"),
    [("brought_a", "brought_a.py"), ("brought_b", "brought_b/__init__.py"), ("brought_c", "silos/brought_c.py")],
)
def test_a_run_folder_that_brings_its_code_runs_it_only_if_the_caller_names_it(
    current: Path, small_job: Callable[..., Job], module: str, brought: str
) -> None:
    """The job in the folder is by whoever made the folder, as the code is."""
    learner = ClassifierConfig(kind="classifier", model=f"{module}:build")
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    content = model_file(learner, (1, 8, 8), 3, network)
    for name in ("global.safetensors", "silos/north/global.safetensors"):
        (current / name).parent.mkdir(parents=True, exist_ok=True)
        (current / name).write_bytes(content)
    (current / "config.yaml").write_text(to_yaml(small_job(**sections(learner.model_dump(mode="json")))))
    (current / brought).parent.mkdir(exist_ok=True)
    (current / brought).write_text(
        "import pathlib\nfrom torch import nn\n\npathlib.Path('ran').touch()\n\n\n"
        "def build(shape, classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))\n"
    )
    places.look_in(current / "silos")
    for path in (".", current, "global.safetensors", current / "silos" / "north"):
        with pytest.raises(ConfigError):
            siloseal.load_model(path)
    assert not (current / "ran").exists()
    assert isinstance(siloseal.load_model(".", code=f"{module}:build"), torch.nn.Sequential)
    assert (current / "ran").exists()


def test_a_learner_of_ones_own_is_trained_and_measures_itself(current: Path, small_job: Callable[..., Job]) -> None:
    (current / "simulated_learner.py").write_text(LEARNER)
    learner = {"kind": "python", "target": "simulated_learner:Regression", "options": {"scale": 9}}
    summary = siloseal.simulate(small_job(**sections(learner)), "run")
    assert summary.accuracy["warm_start"] < summary.accuracy["final"] <= 1
    assert isinstance(siloseal.load_model("run"), torch.nn.Sequential)


def test_a_learner_without_a_measure_is_trained_and_the_report_says_that_nothing_was_measured(
    current: Path, small_job: Callable[..., Job]
) -> None:
    (current / "unmeasured_learner.py").write_text(LEARNER.split("    def measure")[0])
    learner = {"kind": "python", "target": "unmeasured_learner:Regression", "options": {"scale": 9}}
    evaluation = {"silo_alone": True, "pooled": True}
    summary = siloseal.simulate(small_job(**sections(learner, evaluation=evaluation)), "run")
    found = siloseal.read_run("run")
    assert (summary.accuracy, summary.classifier, summary.scores, found.quality) == ({}, "", [], [])
    assert not (current / "run" / "alone").exists(), "a comparison that nothing measures is not worth its epsilon"
    assert any("`measure`" in note.text for note in found.notes)
    page = (current / "run" / "report.html").read_text()
    assert NOT_MEASURED in page
    assert "0.000" not in page
    assert "own measure" not in str(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [("above", "1.5"), ("below", "-0.1"), ("no_number", "float('nan')"), ("words", "'much'"), ("failing", "1 / 0")],
)
def test_a_measure_that_is_no_share_is_refused_with_the_name_of_the_class(
    current: Path, small_job: Callable[..., Job], name: str, value: str
) -> None:
    (current / f"{name}.py").write_text(LEARNER.split("        return 1 - min")[0] + f"        return {value}\n")
    learner = {"kind": "python", "target": f"{name}:Regression", "options": {"scale": 9}}
    with pytest.raises(ConfigError, match=f"{name}:Regression"):
        siloseal.simulate(small_job(**sections(learner)), "run")
    assert not siloseal.read_ledger("run", "north").charges, "the first model is measured before anything is charged"


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
