"""The benchmark runs from the command line, its figures are near their formulas, and none of its JSON is missing."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from siloseal.experiments.kinds_of_noise import calibrated
from siloseal.experiments.noise_by_formula import demand_of
from siloseal.federation.privacy.mechanisms.lattice import LatticeNoise

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mechanisms.py"
MECHANISMS = {"ddg", "skellam", "binomial", "pbm", "pbm_kashin", "gaussian_local", "gaussian_central"}
FIELDS = {
    "epsilon", "delta", "silos", "entries", "repetitions", "gaussian_deviation", "mse_ratio", "mse_standard_error",
    "mse_ratio_add_remove", "mse_ratio_alike", "mse_standard_error_alike", "encode_entries", "encode_s",
    "numpy_gaussian_s", "encode_ratio", "computed", "upload_entries", "bits",
}  # fmt: skip


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, timeout=200)


def test_a_small_run_gives_every_figure() -> None:
    """Two repetitions have a standard error of 3 %; six of them are a false alarm in 1e-8."""
    finished = run("--json", "--repetitions", "2", "--bits", "10", "16", "--entries", "1000", "--epsilons")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found.keys() == FIELDS
    assert found["mse_ratio"].keys() == found["mse_standard_error"].keys() == MECHANISMS
    assert found["mse_ratio_alike"].keys() == found["mse_standard_error_alike"].keys() == {"ddg", "skellam"}
    ratios = {"ddg": 1.0, "skellam": 1.0, "binomial": 1.27, "pbm": 1.0, "pbm_kashin": 5.75, "gaussian_local": 100.0}
    for name, ratio in ratios.items():
        assert found["mse_ratio"][name]["16"] == pytest.approx(ratio, rel=0.2), name
    assert found["mse_ratio"]["pbm"]["10"] == pytest.approx(1.05, rel=0.2)
    assert found["mse_ratio_add_remove"]["pbm_kashin"]["16"] == 4 * found["mse_ratio"]["pbm_kashin"]["16"]
    assert found["bits"]["pbm"] == {"10": 10, "16": 14}
    entries = found["upload_entries"]["40010"]
    assert (entries["padded"], entries["pbm_kashin"]) == (65_536, 131_072)
    assert {entries[name] for name in ("ddg", "skellam", "binomial", "pbm")} == {40_010}
    assert found["encode_ratio"] == pytest.approx(found["encode_s"] / found["numpy_gaussian_s"])
    assert found["computed"] == []


def test_a_measured_error_is_the_formulas(script: dict[str, Any]) -> None:
    """40 repetitions have a standard error of 0.7 %; 4 % is a false alarm in 1e-8. No entry wraps."""
    mechanism = calibrated("skellam", demand_of(3.0, 1024), bits=16)
    assert isinstance(mechanism, LatticeNoise)
    errors = script["squared_errors"](mechanism, False, 40)
    assert len(errors) == 40
    assert sum(errors) / len(errors) == pytest.approx(100 * mechanism.noise.variance * mechanism.step**2, rel=0.04)


def test_targets_say_pass_or_fail_of_what_was_measured(script: dict[str, Any]) -> None:
    ratios = {"ddg": {"16": 1.01}, "skellam": {"16": 1.03}, "pbm": {"10": 1.16, "12": 1.04}}
    lines = script["targets"]({"mse_ratio": ratios, "mse_ratio_alike": ratios, "encode_ratio": 4.0})
    assert [line.split()[:2] for line in lines] == [
        ["pass", "mse_ratio.ddg.16"],
        ["FAIL", "mse_ratio.skellam.16"],
        ["pass", "mse_ratio_alike.ddg.16"],
        ["FAIL", "mse_ratio_alike.skellam.16"],
        ["FAIL", "mse_ratio.pbm.10"],
        ["pass", "mse_ratio.pbm.12"],
        ["pass", "encode_ratio"],
    ]


@pytest.mark.parametrize("options", [("--bits", "6"), ("--repetitions", "1"), ("--entries", "10"), ("--epsilons", "0")])
def test_a_setting_without_a_figure_is_refused_in_one_line(
    script: dict[str, Any], options: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["mechanisms.py", *options])
    with pytest.raises(SystemExit, match=r"^mechanisms\.py: .* 7 to 20 bits, .*$"):
        script["main"]()
