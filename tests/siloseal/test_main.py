"""`python -m siloseal` is the command `siloseal`."""

import subprocess
import sys


def test_the_module_runs_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "siloseal", "--help"], capture_output=True, text=True, check=True)
    assert "siloseal" in ran.stdout
    assert "demo" in ran.stdout
