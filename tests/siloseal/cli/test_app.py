"""The command line as a person uses it: real processes, real files, and what bad input says."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import typer
from PIL import Image
from safetensors import safe_open

from siloseal import load_job, sample
from siloseal.cli.app import ORDER, app, main
from siloseal.federation.config.loading import parse_config, to_yaml
from siloseal.federation.job.job import Job
from siloseal.federation.randomness import SeededRandomness
from siloseal.run_folder.metrics import METRIC
from siloseal.run_folder.run import read_run
from siloseal.runs.run import run_job

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 2}


Ran = subprocess.CompletedProcess[str]


def siloseal(*arguments: object, cwd: Path | None = None) -> Ran:
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "siloseal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Ran]:
    """The same entry point in this process, which has paid for the imports already, with tmp_path as its folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["siloseal", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return Ran(arguments, int(ended.value.code or 0), shown.out, shown.err)

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, small_sections: dict[str, object]) -> Path:
    """A finished run's folder."""
    folder = tmp_path_factory.mktemp("finished")
    job = Job.model_validate({**small_sections, "schedule": SHORT})
    run_job(job, folder, randomness_of=lambda _: SeededRandomness(1))
    return folder


def test_it_tells_its_version(here: Callable[..., Ran]) -> None:
    assert here("--version").stdout.startswith("siloseal 0.")


def test_help_teaches_every_command(here: Callable[..., Ran]) -> None:
    shown = here("--help")
    assert shown.returncode == 0
    for word in ("demo", "run", "plan", "sample", "report", "configs/"):
        assert word in shown.stdout


def test_run_prints_one_json_document_and_progress_elsewhere(small_job: Callable[..., Job], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(schedule=SHORT)))
    ran = siloseal("run", "job.yaml", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    wanted = {"accuracy", "best_silo_accuracy", "real_data_accuracy", "epsilon", "delta", "bytes", "seconds", "run_dir"}
    assert wanted <= set(summary)
    assert summary["run_dir"] == "runs/small"
    assert "Phase 1" in ran.stderr
    assert (tmp_path / "runs/small/report.html").exists()


@pytest.mark.slow
def test_quiet_says_nothing(small_job: Callable[..., Job], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(schedule=SHORT)))
    ran = siloseal("run", tmp_path / "job.yaml", "--out", tmp_path / "run", "--quiet")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_plan_tells_what_a_run_then_does(
    here: Callable[..., Ran], small_job: Callable[..., Job], tmp_path: Path
) -> None:
    """The plan's epsilon, bytes and uploads are those of the run."""
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(schedule=SHORT, secure_sum={"kind": "ckks"})))
    planned = here("plan", tmp_path / "job.yaml", "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    summary = json.loads(here("run", tmp_path / "job.yaml", "--out", tmp_path / "run", "--json").stdout)
    assert max(silo["epsilon"]["total"] for silo in plan["silos"]) == pytest.approx(summary["epsilon"], rel=1e-6)
    traffic = 3 * sum((*plan["upload_bytes"].values(), *plan["download_bytes"].values()))
    assert traffic == pytest.approx(summary["bytes"], rel=0.02)
    assert [METRIC.validate_python(upload) for upload in plan["uploads"]] == read_run(tmp_path / "run").protection
    assert plan["memory_bytes"] > 0
    assert all(seconds > 0 for seconds in plan["seconds"].values())


def test_plan_shows_steps_epsilon_bytes_memory_and_time_to_a_person(
    here: Callable[..., Ran], small_job: Callable[..., Job], tmp_path: Path
) -> None:
    (tmp_path / "job.yaml").write_text(to_yaml(small_job()))
    ran = here("plan", tmp_path / "job.yaml")
    shown = ran.stdout
    assert "job.yaml" in ran.stderr, "said at once: the rest takes seconds"
    assert here("plan", tmp_path / "job.yaml", "--quiet").stderr == ""
    for word in ("north", "Phase 1", "steps", "epsilon", "sent by a silo", "memory", "time", "10.00"):
        assert word in shown


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_job_whose_data_lie_at_silos_is_a_wrong_one_to_plan_or_simulate(
    here: Callable[..., Ran], small_job: Callable[..., Job], tmp_path: Path, command: str
) -> None:
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(data={"kind": "at_silos"})))
    ran = here(command, tmp_path / "job.yaml")
    assert (ran.returncode, "data.kind is at_silos" in ran.stderr) == (2, True)


@pytest.mark.parametrize(("label", "rows", "columns"), [((), 10, 7), (("--class", 3), 8, 8)])
def test_sample_draws_a_grid(
    finished: Path, tmp_path: Path, label: tuple[object, ...], rows: int, columns: int
) -> None:
    ran = siloseal(
        "sample", "--model", finished / "global.safetensors", *label, "--count", 64, "--out", tmp_path / "grid.png"
    )
    assert ran.returncode == 0, ran.stderr
    with Image.open(tmp_path / "grid.png") as picture:
        assert picture.size == (2 * (9 * columns - 1), 2 * (9 * rows - 1))


def test_commands_take_a_runs_folder_for_its_model(here: Callable[..., Ran], finished: Path, tmp_path: Path) -> None:
    ran = here("sample", "--model", finished, "--count", 3, "--out", "a.npz")
    assert (ran.returncode, ran.stdout) == (0, "a.npz\n"), ran.stderr
    assert np.array_equal(read_samples(tmp_path / "a.npz")["images"], sample(finished, count=3).images)
    ran = here("adapt", "--model", finished, "--support", "support", "--query", "query")
    assert "holds a gan" in ran.stderr  # so it was found in the folder, and read


def read_samples(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return dict(arrays)


def test_sample_writes_arrays_that_repeat_with_their_seed(
    here: Callable[..., Ran], finished: Path, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        here("sample", "--model", finished / "global.safetensors", "--count", 30, "--seed", seed, "--out", tmp_path / f"{name}.npz")  # fmt: skip
    a, b, c = (read_samples(tmp_path / f"{name}.npz") for name in "abc")
    assert a["images"].shape == (30, 1, 8, 8)
    assert a["labels"].tolist() == list(range(10)) * 3
    assert np.array_equal(a["images"], b["images"])
    assert not np.array_equal(a["images"], c["images"])


def test_report_writes_the_report_again(here: Callable[..., Ran], finished: Path) -> None:
    (finished / "report.html").unlink()
    ran = here("report", finished)
    assert ran.stdout.strip() == str(finished / "report.html")
    assert (finished / "report.html").read_text().startswith("<!doctype html>")


def test_report_refuses_a_run_whose_ledger_was_altered(
    here: Callable[..., Ran], finished: Path, tmp_path: Path
) -> None:
    altered = tmp_path / "altered"
    shutil.copytree(finished, altered)
    ledger = altered / "silos" / "north" / "ledger.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join(lines).replace('"steps": 3', '"steps": 1'))
    assert "ledger.jsonl, line" in here("report", altered).stderr
    ledger.write_text("".join(lines[:-1]))  # what is left is a chain still
    ran = here("report", altered)
    assert (ran.returncode, "summary.json says" in ran.stderr) == (1, True)


def test_sample_refuses_weights_that_are_not_numbers(here: Callable[..., Ran], finished: Path, tmp_path: Path) -> None:
    with safe_open(finished / "global.safetensors", framework="pt") as file:
        words, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    next(iter(tensors.values()))[0] = float("nan")
    safetensors.torch.save_file(tensors, tmp_path / "nan.safetensors", words)
    ran = here("sample", "--model", "nan.safetensors", "--out", "a.png")
    assert (ran.returncode, "not finite" in ran.stderr) == (1, True)


def test_a_program_gets_one_json_document_for_an_error_too(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("nmae: small\n")
    ran = here("run", "bad.yaml", "--json")
    assert ran.returncode == 2
    assert "nmae" in json.loads(ran.stdout)["error"]


def test_a_program_gets_one_json_document_also_if_the_disk_is_to_blame(tmp_path: Path) -> None:
    tls = "{certificate: a.crt, key: a.key, authority: ca.crt}"
    text = f"port: 8443\njob: job.yaml\ntls: {tls}\nrevoked: revoked.pem\nstate: /proc/nowhere/state\n"
    (tmp_path / "aggregator.yaml").write_text(text)
    ran = siloseal("aggregator", "--config", tmp_path / "aggregator.yaml", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"] in ran.stderr
    assert "/proc/nowhere" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_plan_refuses_public_data_of_another_shape(
    here: Callable[..., Ran], small_job: Callable[..., Job], tmp_path: Path
) -> None:
    job = small_job(warm_start={"kind": "public", "data": {"kind": "embedded_mnist"}})
    (tmp_path / "job.yaml").write_text(to_yaml(job))
    ran = here("plan", "job.yaml")
    assert (ran.returncode, "(1, 28, 28)" in ran.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "missing.yaml"), ["missing.yaml"]),
        (("plan", "missing.yaml"), ["missing.yaml"]),
        (("report", "nowhere"), ["nowhere"]),
        (("sample", "--model", "no.safetensors", "--out", "a.png"), ["no.safetensors"]),
        (("sample", "--model", "MODEL", "--out", "a.gif"), [".gif", ".png"]),
        (("sample", "--model", "MODEL", "--out", "a.png", "--class", "11"), ["11", "0 to 9"]),
        (("sample", "--model", "MODEL", "--out", "a.png", "--count", "0"), ["--count"]),
        (("sample", "--model", "MODEL", "--out", "/proc/a.png"), ["/proc/a.png"]),
        (("sample", "--model", "JUNK", "--out", "a.png"), ["junk.safetensors"]),
        (("run", "BAD"), ["bad.yaml:1", "name"]),
        (("run", "GRIDS"), ["grids.yaml", "`siloseal compare`"]),
        (("analytics", "GRIDS"), ["grids.yaml", "`siloseal compare`"]),
        (("provision", "GRIDS"), ["grids.yaml", "`siloseal compare`"]),
        (("silo", "--config", "GRIDS"), ["grids.yaml", "`siloseal compare`"]),
        (("status", "--config", "GRIDS"), ["grids.yaml", "`siloseal compare`", "operator's", "silo's"]),
        (("compare", "BAD"), ["bad.yaml:1", "grids"]),
        (("frobnicate",), ["frobnicate"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_bad_input_gets_a_sentence_and_no_traceback(
    here: Callable[..., Ran], finished: Path, tmp_path: Path, arguments: tuple[str, ...], words: list[str]
) -> None:
    (tmp_path / "junk.safetensors").write_bytes(b"\xff" * 1000)
    (tmp_path / "bad.yaml").write_text("nmae: small\n")
    (tmp_path / "grids.yaml").write_text("name: trial\ngrids: []\n")
    given = {
        "MODEL": finished / "global.safetensors",
        "JUNK": "junk.safetensors",
        "BAD": "bad.yaml",
        "GRIDS": "grids.yaml",
    }
    ran = here(*(given.get(argument, argument) for argument in arguments))
    assert ran.returncode in (1, 2)
    assert "Traceback" not in ran.stderr
    for word in words:
        assert word in ran.stderr
    assert ran.stdout == ""


def test_the_demo_is_a_valid_job_of_four_silos_with_half_the_digits_each() -> None:
    from importlib import resources

    text = resources.files("siloseal.runs").joinpath("demo.yaml").read_text(encoding="utf-8")
    job = parse_config(Job, text, name="demo.yaml")
    assert len(job.silos.names) == 4
    assert job.silos.partition.model_dump() == {"kind": "by_class", "classes_per_silo": 5}
    assert job.privacy.model_dump()["epsilon"] == 10


def test_the_help_lists_every_command_in_the_order_in_which_they_are_needed(here: Callable[..., Ran]) -> None:
    text = here("--help").stdout.partition("Commands")[2]
    listed = [line.strip("│ ").split()[0] for line in text.splitlines() if line.startswith("│ ") and line[2] != " "]
    assert tuple(listed) == ORDER
    assert set(ORDER) == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # of a group


def test_the_demo_prints_a_job_to_begin_with(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(here("demo", "--print-config").stdout)
    assert load_job(tmp_path / "job.yaml").name == "demo"
    assert not (tmp_path / "runs").exists()
