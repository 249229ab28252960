"""The demo as a newcomer runs it, and what it promises. Minutes long, so it runs by hand: `make slow`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


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
