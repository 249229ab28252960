"""The demo as a newcomer runs it, and what it promises."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import RunError
from siloseal.federation.job.job import Job
from siloseal.federation.records.audit import verify_audit
from siloseal.federation.run_events.experimenter import ProcessEnded
from siloseal.federation.run_events.stream import PartySaid
from siloseal.run_folder.run import read_run
from siloseal.runs import demo
from siloseal.runs.closing import check_ledgers
from siloseal.runs.demo import run_demo
from siloseal.runs.processes import Processes

SHORT = {"kind": "two_phase", "batch": 48, "tuning_rounds": 1, "tuning_steps": 5}
SMALL = """
import sys
from pathlib import Path
from siloseal.federation.job.job import Job
from siloseal.federation.config.loading import load_config
from siloseal.runs.demo import run_demo
run_demo(load_config(Job, Path(sys.argv[1])), Path(sys.argv[2]), lambda event: print(event, file=sys.stderr, flush=True))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_federation_draws_all_digits_and_no_silo_alone_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "siloseal", "demo", "--json", "--out", str(tmp_path / "demo")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    summary = json.loads(ran.stdout)
    assert summary["accuracy"]["final"] >= 0.72
    assert summary["accuracy"]["final"] >= summary["best_silo_accuracy"] + 0.20
    assert summary["epsilon"] <= 10
    assert summary["delta"] == 1e-5
    assert all(len(silo["labels"]) == 5 for silo in summary["silos"])
    assert (tmp_path / "demo" / "report.html").exists()


def test_a_demo_among_real_processes_ends_with_its_report(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job = small_job(secure_sum={"kind": "ckks"}, schedule={**SHORT, "local_steps": 10})
    run_dir = tmp_path / "run"
    summary = run_demo(job, run_dir)
    assert not (run_dir / "kits").exists(), "the keys have done their work"
    assert read_run(run_dir).summary == summary
    assert list(summary.accuracy) == ["warm_start", "phase_1", "round_1", "final"]
    assert summary.bytes > 10**6
    pose = "whoever holds the authority can pose as every silo"
    assert [warning for warning in summary.warnings if pose in warning] == summary.warnings[:1]
    assert pose in (run_dir / "report.html").read_text()
    check_ledgers(run_dir)
    assert verify_audit(run_dir / "aggregator" / "audit.jsonl").lines > 20
    assert verify_audit(run_dir / "silos" / "north" / "audit.jsonl").lines > 10


@pytest.mark.slow
def test_a_demo_that_is_killed_goes_on_and_ends_with_its_report(small_job: Callable[..., Job], tmp_path: Path) -> None:
    schedule = {**SHORT, "local_steps": 800}
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(secure_sum={"kind": "ckks"}, schedule=schedule)))
    run_dir = tmp_path / "run"
    command = [sys.executable, "-c", SMALL, str(tmp_path / "job.yaml"), str(run_dir)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("TrainingProgressed(" in line for line in process.stderr), "its silos train"
        process.kill()
    ledger = next((run_dir / "silos" / "north" / "runs").glob("*/ledger.jsonl"))
    before = ledger.read_text()
    assert (run_dir / "kits" / "north" / "silo.key").stat().st_mode & 0o077 == 0
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    assert ledger.read_text().startswith(before), "what was charged before the kill stays charged"
    summary = read_run(run_dir).summary
    assert summary.epsilon is not None
    assert summary.epsilon <= 10
    check_ledgers(run_dir)


@pytest.mark.slow
def test_a_demo_that_ended_while_it_was_scored_goes_on_without_the_silos(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(schedule={**SHORT, "local_steps": 10})

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("siloseal.runs.run._score_silos", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_demo(job, tmp_path / "run")
    summary = run_demo(job, tmp_path / "run")
    assert list(summary.accuracy) == ["warm_start", "phase_1", "round_1", "final"]
    assert summary.accuracy["final"] == summary.accuracy["round_1"]
    assert read_run(tmp_path / "run").summary == summary


@pytest.mark.slow
def test_a_party_that_ends_badly_ends_the_demo_with_its_words(
    small_job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = demo._policy(small_job()).model_copy(update={"fewest_silos": 4})
    monkeypatch.setattr(demo, "_policy", lambda _: strict)
    with pytest.raises(RunError, match=r"policy\.fewest_silos is 4"):
        run_demo(small_job(), tmp_path / "run")


def test_the_last_words_of_a_process_are_the_error(tmp_path: Path) -> None:
    heard: list[PartySaid] = []
    ended = threading.Event()

    def hear(said: PartySaid) -> None:
        heard.append(said)
        ended.set()

    with Processes({"north": ["silo", "--config", str(tmp_path / "none.yaml")]}, tmp_path, hear) as processes:
        assert ended.wait(200)
        with pytest.raises(RunError, match=r"north: error: .*none\.yaml"):
            processes.require_well()
    assert heard == [PartySaid("north", ProcessEnded(2))]


def test_a_killed_parent_takes_its_processes_with_it(tmp_path: Path) -> None:
    """They would hold the run's files."""
    script = f"""
import os, signal, sys
from pathlib import Path
from siloseal.runs.processes import Processes
def hear(said): pass
with Processes({{"north": ["demo", "--quiet", "--out", {str(tmp_path / "run")!r}]}}, Path({str(tmp_path)!r}), hear) as processes:
    print(processes._running["north"].pid, flush=True)
    signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        watch = os.pidfd_open(child)
        parent.send_signal(signal.SIGKILL)
    ready = select.select([watch], [], [], 60)[0]
    os.close(watch)
    assert ready == [watch], "the child has ended"
