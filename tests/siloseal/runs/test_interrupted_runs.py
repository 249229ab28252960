"""Runs that are killed or stopped, as processes of their own, and the same command after it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from siloseal.federation.config.loading import to_yaml
from siloseal.federation.job.job import Job
from siloseal.federation.transport.wire import masked_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.silo.state import SiloState

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 10, "tuning_rounds": 2, "tuning_steps": 3}
KERNEL_MEAN = {"kind": "kernel_mean", "epsilon": 4, "frequencies": 100, "length_scale": 1.0, "fit_steps": 60}


def run_command(config: Path, folder: Path) -> list[str]:
    return [sys.executable, "-m", "siloseal", "run", str(config), "--out", str(folder), "--quiet"]


def ended_by(sent: signal.Signals, condition: Callable[[], bool], command: list[str]) -> tuple[int, str]:
    """Start the command and send it a signal as soon as the condition holds: its exit code and what it said."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not condition():
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.01)
        process.send_signal(sent)
        _, said = process.communicate(timeout=200)
        return process.returncode, said


@pytest.mark.parametrize(
    "moment",
    [
        "in the encrypted sum",
        *(pytest.param(moment, marks=pytest.mark.slow) for moment in ("in phase 1", "after phase 1")),
    ],
)
def test_a_run_that_was_killed_goes_on_with_the_same_command(
    small_job: Callable[..., Job], tmp_path: Path, moment: str
) -> None:
    schedule = {**SHORT, "local_steps": 300, "tuning_rounds": 4}
    config, folder = tmp_path / "job.yaml", tmp_path / "run"
    job = small_job(warm_start=KERNEL_MEAN, schedule=schedule, secure_sum={"kind": "ckks"})
    config.write_text(to_yaml(job))
    command = run_command(config, folder)
    ledger = folder / "silos" / "north" / "ledger.jsonl"

    def reached() -> bool:
        if moment == "in phase 1":
            return ledger.exists() and ledger.read_text().count("phase_1") >= 2
        if moment == "in the encrypted sum":
            last = SiloState(ledger.parent).load_reply() if ledger.exists() else pb.LastReply()
            return bool(last.side) and decode(masked_pb2.MaskedSiloState, last.side).answered >= 2
        return (folder / "samples" / "round_1.npz").exists()

    ended_by(signal.SIGKILL, reached, command)
    assert not (folder / "summary.json").exists()
    before = ledger.read_text()
    finished = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False, timeout=200)
    assert finished.returncode == 0, finished.stderr
    summary = json.loads(finished.stdout)
    assert summary["epsilon"] <= 10
    after = ledger.read_text()
    assert after.startswith(before), "what was charged before the kill stays charged"
    assert after.count("warm_start") == 1, "what the journal holds is not asked again"
    assert set(summary["accuracy"]) == {"warm_start", "phase_1", *(f"round_{n}" for n in range(1, 5)), "final"}


def test_ctrl_c_stops_at_once_and_says_how_to_go_on(small_job: Callable[..., Job], tmp_path: Path) -> None:
    schedule = {**SHORT, "local_steps": 5000}
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(schedule=schedule)))
    command = run_command(tmp_path / "job.yaml", tmp_path / "run")
    ledger = tmp_path / "run" / "silos" / "north" / "ledger.jsonl"
    code, said = ended_by(signal.SIGINT, lambda: ledger.exists() and "phase_1" in ledger.read_text(), command)
    assert (code, "same command" in said, "Traceback" in said) == (130, True, False)


@pytest.mark.slow
def test_a_silo_that_lost_its_identity_does_not_take_another(small_job: Callable[..., Job], tmp_path: Path) -> None:
    schedule = {**SHORT, "local_steps": 4000}
    (tmp_path / "job.yaml").write_text(to_yaml(small_job(schedule=schedule)))
    command = run_command(tmp_path / "job.yaml", tmp_path / "run")
    home = tmp_path / "run" / "silos" / "north"
    ended_by(signal.SIGKILL, lambda: (home / "checkpoint.safetensors").exists(), command)
    assert (tmp_path / "run" / "aggregator" / "journal.sqlite").stat().st_mode & 0o077 == 0
    (home / "identity.key").unlink()
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert again.returncode == 1
    assert "identity.key" in again.stderr
