"""The benchmark runs from the command line, its sum is right, and no figure of its JSON is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = {
    "params", "silos", "precision_bits", "degree", "modulus_bits", "values_per_coefficient", "keys",
    "statistical_distance_log2", "bytes_per_param", "stock_bytes_per_param", "sent_bytes_per_param",
    "received_bytes_per_param", "encrypt_s", "stock_encrypt_s", "stock_serialize_s", "open_s", "stock_decrypt_s",
    "silo_open_round_s", "aggregator_s", "whole_protocol_s", "max_error", "error_bound", "stock_max_error",
    "encrypt_ratio", "open_ratio", "open_to_stock_decrypt_ratio",
}  # fmt: skip


def run(*options: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "ckks.py"
    return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, timeout=60)


def test_a_small_run_gives_every_figure_and_a_sum_within_its_bound() -> None:
    finished = run("--params", "20000", "--silos", "3", "--repeats", "1", "--json")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found.keys() >= FIELDS
    assert (found["params"], found["silos"], found["precision_bits"]) == (20000, 3, 16)
    assert 0 < found["max_error"] <= found["error_bound"]
    assert found["statistical_distance_log2"] <= -40
    # One ciphertext has a fixed size, which 20,000 parameters fill by half: it is smaller than stock's even so.
    assert found["bytes_per_param"] < found["stock_bytes_per_param"]


@pytest.mark.parametrize("options", [("--params", "0"), ("--silos", "1"), ("--precision-bits", "41")])
def test_a_setting_without_a_sum_is_refused_in_one_line(options: tuple[str, str]) -> None:
    finished = run(*options)
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1
    assert "at least" in finished.stderr
