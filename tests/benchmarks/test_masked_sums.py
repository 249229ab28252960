"""The benchmark runs from the command line, its sums are right, and no figure of its JSON is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = {
    "params", "silos", "precision_bits", "modulus_bits", "keystream_s", "mask_s", "mask_ratio", "masks_s_n5", "silo_s_n5",
    "silo_ratio", "expansion_measured", "expansion_formula", "ring_params", "ring",
    "degree_n100", "degree_n300", "degree_n1000", "degree_n10000", "degree_n100000",
}  # fmt: skip


def run(*options: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "masked_sums.py"
    return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, timeout=200)


def test_a_small_run_gives_every_figure() -> None:
    sizes = ("--params", "100000", "--silos", "5", "--ring-params", "1000", "--ring-silos", "100")
    finished = run("--json", *sizes)
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found.keys() == FIELDS
    assert found["modulus_bits"] == 32
    assert found["expansion_formula"] < found["expansion_measured"] < 1.02 * found["expansion_formula"]
    (row,) = found["ring"]
    assert (row["silos"], row["degree"]) == (100, 28)
    assert all(value > 0 for value in row.values())


@pytest.mark.parametrize(
    "options", [("--params", "0"), ("--silos", "1"), ("--ring-silos", "50"), ("--precision-bits", "41")]
)
def test_a_setting_without_a_sum_is_refused_in_one_line(options: tuple[str, str]) -> None:
    finished = run(*options)
    assert finished.returncode != 0
    assert finished.stderr.count("\n") == 1
    assert "Traceback" not in finished.stderr
