"""The benchmark runs from the command line in fresh processes, and no figure of its JSON is missing."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIELDS = {"python_ms", "torch_ms", "help_ms", "status_ms", "plan_refused_ms", "plan_ms"}


def test_one_turn_gives_every_figure() -> None:
    script = ROOT / "benchmarks" / "startup.py"
    ran = subprocess.run([sys.executable, str(script), "--json", "--repeats", "1"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found.keys() == FIELDS
    assert all(value > 0 for value in found.values())
