"""What `import siloseal` promises: a small, documented, typed list of names, and a whole job done through it."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import siloseal
from siloseal.federation.errors import LedgerDamaged
from siloseal.models.gan.generators import Generator

CONFIGS = Path(__file__).parents[2] / "configs"
HEAVY = ("torch", "tenseal", "scipy", "gmpy2", "numpy", "pydantic", "grpc", "matplotlib")
SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 2}


def public(name: str) -> object:
    return getattr(siloseal, name)


class TestTheListOfNames:
    def test_every_name_is_there_documented_and_at_home_where_it_says(self) -> None:
        assert siloseal.__all__ == sorted(set(siloseal.__all__))
        for name in siloseal.__all__:
            found: Any = public(name)
            assert inspect.getdoc(found), name
            assert found.__name__ == name

    def test_every_argument_and_result_is_typed(self) -> None:
        for name in siloseal.__all__:
            if inspect.isfunction(found := public(name)):
                signature = inspect.signature(found)
                assert signature.return_annotation is not inspect.Signature.empty, name
                untyped = [p.name for p in signature.parameters.values() if p.annotation is inspect.Parameter.empty]
                assert untyped == [], name
        assert Path(siloseal.__file__).with_name("py.typed").is_file()

    def test_type_checkers_see_the_same_names_from_the_same_modules(self) -> None:
        (block,) = (n for n in ast.parse(Path(siloseal.__file__).read_text()).body if isinstance(n, ast.If))
        seen = {
            node.module: tuple(a.name for a in node.names) for node in block.body if isinstance(node, ast.ImportFrom)
        }
        assert seen == siloseal._HOMES
        assert sorted(name for names in seen.values() for name in names) == siloseal.__all__
        for module, names in seen.items():
            for name in names:
                assert getattr(importlib.import_module(str(module)), name) is public(name)

    def test_nothing_else_leaks(self) -> None:
        for name in siloseal.__all__:
            public(name)
        others = {
            name
            for name, value in vars(siloseal).items()
            if not name.startswith("_") and not isinstance(value, ModuleType)
        }
        assert others <= set(siloseal.__all__)
        assert dir(siloseal) == siloseal.__all__

    def test_the_version_is_that_of_the_package(self) -> None:
        package = tomllib.loads((CONFIGS.parent / "pyproject.toml").read_text())
        assert siloseal.__version__ == package["project"]["version"]

    def test_another_name_is_refused_with_where_to_look(self) -> None:
        with pytest.raises(AttributeError, match=r"siloseal\.__all__"):
            public("run_job")

    def test_a_bare_import_loads_no_heavy_library(self) -> None:
        script = f"import sys, siloseal; print([name for name in {HEAVY} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == "[]\n"


@pytest.fixture(scope="module")
def job_file(tmp_path_factory: pytest.TempPathFactory, small_sections: dict[str, Any]) -> Path:
    path = tmp_path_factory.mktemp("job") / "job.yaml"
    path.write_text(yaml.safe_dump({**small_sections, "schedule": SHORT}))
    return path


@pytest.fixture(scope="module")
def run_dir(job_file: Path) -> Path:
    """A finished run's folder, made through the API."""
    folder = job_file.with_name("run")
    siloseal.simulate(siloseal.load_job(job_file), folder)
    return folder


class TestAWholeJob:
    def test_the_plan_says_what_the_run_then_spends(self, job_file: Path, run_dir: Path) -> None:
        plan = siloseal.plan(siloseal.load_job(str(job_file)))
        spent = {silo.name: silo.epsilon for silo in siloseal.read_run(run_dir).summary.silos}
        assert {cost.name: (cost.epsilon or {})["total"] for cost in plan.silos} == pytest.approx(spent)

    def test_what_was_measured_is_read_without_any_other_name(self, run_dir: Path) -> None:
        run = siloseal.read_run(run_dir)
        parts = (run.quality, run.traffic, run.timing, run.protection, run.privacy, run.notes)
        assert sorted((metric for part in parts for metric in part), key=repr) == sorted(run.metrics, key=repr)
        assert {measured.stage for measured in run.quality if measured.silo is None} >= {"phase_1", "round_1", "final"}
        assert {traffic.silo for traffic in run.traffic} == {"north", "east", "south"}

    def test_the_ledger_is_the_one_that_the_summary_quotes(self, run_dir: Path) -> None:
        for silo in siloseal.read_run(str(run_dir)).summary.silos:
            ledger = siloseal.read_ledger(run_dir, silo.name)
            assert (ledger.silo, ledger.budget.epsilon) == (silo.name, silo.budget)
            assert ledger.epsilon == pytest.approx(silo.epsilon)
            assert list(ledger.epsilon_by_phase) == ["phase_1", "phase_2"]
            assert max(ledger.epsilon_by_phase.values()) < ledger.epsilon < sum(ledger.epsilon_by_phase.values())

    def test_the_same_call_again_resumes_what_a_crash_left(self, job_file: Path, run_dir: Path) -> None:
        before = siloseal.read_run(run_dir).summary
        (run_dir / "report.html").unlink()  # it is written last
        after = siloseal.simulate(siloseal.load_job(job_file), run_dir)
        assert (after.accuracy, after.epsilon) == (before.accuracy, before.epsilon)
        assert "resumed" in " ".join(after.warnings)
        assert (run_dir / "report.html").is_file()

    def test_the_model_draws_the_same_from_network_file_and_folder(self, run_dir: Path) -> None:
        network = siloseal.load_model(run_dir)
        assert isinstance(network, Generator)
        ways = (network, run_dir, str(run_dir / "global.safetensors"))
        drawn = [siloseal.sample(way, label=3, count=5, seed=1) for way in ways]
        assert drawn[0].images.shape == (5, 1, 8, 8)
        assert drawn[0].images.dtype == np.uint8
        assert drawn[0].labels.tolist() == [3] * 5
        assert all(np.array_equal(drawn[0].images, one.images) for one in drawn)

    def test_the_callers_threads_are_left_alone(self, job_file: Path) -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            siloseal.plan(siloseal.load_job(job_file))
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)

    def test_progress_is_shown_only_to_whoever_asks(
        self, job_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        job = siloseal.load_job(job_file)
        siloseal.simulate(job, tmp_path / "silent")
        assert capfd.readouterr() == ("", "")
        siloseal.simulate(job, tmp_path / "shown", progress=True)
        shown = capfd.readouterr()
        assert shown.out == ""
        assert "Phase 1" in shown.err


@pytest.mark.parametrize(
    ("misuse", "says"),
    [
        (lambda run: siloseal.load_job("nowhere.yaml"), "nowhere.yaml"),
        (lambda run: siloseal.load_job(CONFIGS / "compare-sums.yaml"), "siloseal compare"),
        (lambda run: siloseal.simulate(siloseal.load_job(run.with_name("job.yaml")), run), "finished run"),
        (lambda run: siloseal.read_run(run / "silos"), "run's folder"),
        (lambda run: siloseal.read_ledger(run, "nobody"), "nobody"),
        (lambda run: siloseal.load_model(run / "summary.json"), r"summary\.json .*damaged"),
        (lambda run: siloseal.read_ledger(run, ".."), "north"),
        (lambda run: siloseal.load_model(siloseal.read_run(run)), r"give its \.directory"),
        (lambda run: siloseal.read_ledger(siloseal.read_run(run).summary, "north"), r"give its \.run_dir"),
        (lambda run: siloseal.simulate(siloseal.load_job(run.with_name("job.yaml")), 3), "run folder"),
        (lambda run: siloseal.sample(run, label=10), "0 to 9"),
        (lambda run: siloseal.adapt(run, run, run), "sample"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused_in_words(run_dir: Path, misuse: Callable[[Path], object], says: str) -> None:
    with pytest.raises(siloseal.SiloSealError, match=says):
        misuse(run_dir)


def test_a_ledger_that_was_altered_is_noticed(run_dir: Path) -> None:
    path = run_dir / "silos" / "north" / "ledger.jsonl"
    original = path.read_text()
    first, *others = original.splitlines()
    cheaper = [json.dumps({**json.loads(line), "steps": 1}) for line in others]
    path.write_text("\n".join([first, *cheaper]) + "\n")
    try:
        with pytest.raises(LedgerDamaged):
            siloseal.read_ledger(run_dir, "north")
    finally:
        path.write_text(original)


def test_the_ledger_of_a_deployed_silo_is_read_from_its_run_or_its_state(run_dir: Path, tmp_path: Path) -> None:
    state, kept = tmp_path / "state", run_dir / "silos" / "east" / "ledger.jsonl"
    for number, run in enumerate(("a", "b")):
        (folder := state / "runs" / run).mkdir(parents=True)
        (folder / "ledger.jsonl").write_bytes(kept.read_bytes())
        assert siloseal.read_ledger(folder, "east").silo == "east"
        with pytest.raises(siloseal.RunError, match="east"):
            siloseal.read_ledger(folder, "north")
        if number == 0:
            assert siloseal.read_ledger(state, "east").silo == "east"
    with pytest.raises(siloseal.RunError, match="runs/b"):
        siloseal.read_ledger(state, "east")
