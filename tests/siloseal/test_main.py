"""`python -m siloseal` is the command `siloseal`."""

import subprocess
import sys
from pathlib import Path


def test_the_module_runs_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "siloseal", "--help"], capture_output=True, text=True, check=True)
    assert "siloseal" in ran.stdout
    assert "demo" in ran.stdout


def test_the_module_looks_for_code_nowhere_but_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "lies_here.py").write_text("def build(shape, classes): ...\n")
    (tmp_path / "code").mkdir()
    command = [sys.executable, "-m", "siloseal", "digest", "lies_here:build"]
    assert (
        subprocess.run([*command, "--folder", "code"], cwd=tmp_path, capture_output=True, check=False).returncode == 2
    )
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
