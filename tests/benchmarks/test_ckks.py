"""The benchmark runs from the command line, its sum is right, and no figure of its JSON is missing."""

import importlib.util
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = {
    "params", "silos", "precision_bits", "degree", "modulus_bits", "values", "key_bits", "upload_bytes_per_param",
    "floor_bytes_per_param", "sent_bytes_per_param", "received_bytes", "secagg_sent_bytes_per_param",
    "stock_bytes_per_param", "encrypt_s", "stock_encrypt_s", "stock_serialize_s", "stock_decrypt_s", "silo_s",
    "secagg_silo_s", "aggregator_s_per_silo", "ring_s", "max_error", "error_bound", "stock_max_error",
    "silo_to_stock_encrypt_ratio", "silo_to_secagg_ratio",
}  # fmt: skip


def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks.ckks", ROOT / "benchmarks" / "ckks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*options: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "benchmarks" / "ckks.py"
    return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, timeout=200)


def test_a_small_run_gives_every_figure_and_a_sum_within_its_bound() -> None:
    finished = run("--params", "20000", "--silos", "3", "--repeats", "1", "--json")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found.keys() >= FIELDS
    assert (found["params"], found["silos"], found["precision_bits"]) == (20000, 3, 16)
    assert 0 < found["max_error"] <= found["error_bound"]
    assert found["floor_bytes_per_param"] < found["upload_bytes_per_param"] < found["sent_bytes_per_param"]
    assert found["sent_bytes_per_param"] < found["stock_bytes_per_param"]


SENT_AND_RECEIVED = [(1_000_000, 10, 2.9, 10_000), (100_000, 10, 3.1, 10_000), (100_000, 100, 3.7, 60_000)]


@pytest.mark.parametrize(("params", "silos", "sent", "received"), SENT_AND_RECEIVED)
def test_all_that_a_silo_sends_and_receives_stays_within_what_is_promised(
    params: int, silos: int, sent: float, received: int
) -> None:
    setting = benchmark().Setting(params, silos, 16)
    found = benchmark().time_protocol(setting, setting.scheme, "", defaultdict(list))
    assert found["sent_bytes_per_param"] <= sent
    assert found["received_bytes"] <= received


@pytest.mark.parametrize("options", [("--params", "0"), ("--silos", "1"), ("--precision-bits", "41")])
def test_a_setting_without_a_sum_is_refused_in_one_line(options: tuple[str, str]) -> None:
    finished = run(*options)
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1
    assert "at least" in finished.stderr
