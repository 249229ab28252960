"""The benchmark runs from the command line on real processes, and no figure of its JSON is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = {
    "bare_download_mib_s", "download_mib_s", "bare_upload_mib_s", "upload_mib_s", "upload_ratio", "download_ratio",
    "memory_rounds", "memory_early_mib", "memory_mib", "silos", "silos_s",
}  # fmt: skip


@pytest.mark.slow
def test_a_small_run_gives_every_figure() -> None:
    script = ROOT / "benchmarks" / "transport.py"
    options = ["--json", "--mib", "4", "--repeats", "1", "--rounds", "10", "--silos", "4"]
    ran = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found.keys() == FIELDS
    assert all(value > 0 for value in found.values())
    assert (found["memory_rounds"], found["silos"]) == (10, 4)
