"""The benchmark runs from the command line, its figures are near their formulas, and none of its JSON is missing."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mechanisms.py"
MECHANISMS = {"ddg", "skellam", "binomial", "pbm", "gaussian_local", "gaussian_central"}
FIELDS = {
    "epsilon", "delta", "silos", "entries", "repetitions", "gaussian_deviation", "mse_ratio", "mse_standard_error",
    "mse_ratio_add_remove", "mse_ratio_alike", "mse_standard_error_alike", "encode_entries", "encode_s",
    "numpy_gaussian_s", "encode_ratio", "computed",
}  # fmt: skip


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, timeout=200)


def test_a_small_run_gives_every_figure() -> None:
    """Two repetitions have a standard error of 3 %; six of them are a false alarm in 1e-8."""
    finished = run("--json", "--repetitions", "2", "--bits", "16", "--entries", "1000", "--epsilons")
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    assert found.keys() == FIELDS
    assert found["mse_ratio"].keys() == found["mse_standard_error"].keys() == MECHANISMS
    assert found["mse_ratio_alike"].keys() == found["mse_standard_error_alike"].keys() == {"ddg", "skellam"}
    for name, ratio in {"ddg": 1.0, "skellam": 1.0, "binomial": 1.27, "pbm": 5.75, "gaussian_local": 100.0}.items():
        assert found["mse_ratio"][name]["16"] == pytest.approx(ratio, rel=0.2), name
    assert found["mse_ratio_add_remove"]["pbm"]["16"] == 4 * found["mse_ratio"]["pbm"]["16"]
    assert found["encode_ratio"] == pytest.approx(found["encode_s"] / found["numpy_gaussian_s"])
    assert found["computed"] == []


def test_a_measured_error_is_the_formulas(script: dict[str, Any]) -> None:
    """40 repetitions have a standard error of 0.7 %; 4 % is a false alarm in 1e-8. No entry wraps."""
    demand = script["demand_of"](3.0, 1024)
    mechanism = script["built"]("skellam", 16, demand)
    errors = script["squared_errors"](mechanism, False, 40)
    assert len(errors) == 40
    assert sum(errors) / len(errors) == pytest.approx(100 * mechanism.noise.variance * mechanism.step**2, rel=0.04)


def test_a_row_of_the_computed_table_compares_every_mechanism(script: dict[str, Any]) -> None:
    coarse, fine = (script["computed_row"](1024, 3.0, bits) for bits in (10, 16))
    assert coarse.keys() == {"entries", "epsilon", "bits", "pbm_add_remove", "pbm_bits"} | MECHANISMS
    for name in ("ddg", "skellam"):
        assert 1.02 > fine[name] < coarse[name]
    assert fine["gaussian_central"] == pytest.approx(1.0)
    assert fine["gaussian_local"] == pytest.approx(100.0)
    assert fine["pbm_add_remove"] == pytest.approx(4 * fine["pbm"])
    assert fine["pbm_bits"] == coarse["pbm_bits"] == 7  # one coin of each of 100 silos


def test_too_few_bits_leave_a_gap_in_the_table(script: dict[str, Any]) -> None:
    assert script["computed_row"](1, 3.0, 8)["ddg"] is None


def test_the_bits_of_a_scalar_under_pbm_fall_with_epsilon(script: dict[str, Any]) -> None:
    trials = [script["built"]("pbm", 16, script["demand_of"](epsilon, 1)).trials for epsilon in (2.0, 1.0)]
    assert [(100 * count).bit_length() for count in trials] == [11, 9]


def test_targets_say_pass_or_fail_of_what_was_measured(script: dict[str, Any]) -> None:
    ratios = {"ddg": {"16": 1.01}, "skellam": {"16": 1.03}}
    lines = script["targets"]({"mse_ratio": ratios, "mse_ratio_alike": ratios, "encode_ratio": 4.0})
    assert [line.split()[:2] for line in lines] == [
        ["pass", "mse_ratio.ddg.16"],
        ["FAIL", "mse_ratio.skellam.16"],
        ["pass", "mse_ratio_alike.ddg.16"],
        ["FAIL", "mse_ratio_alike.skellam.16"],
        ["pass", "encode_ratio"],
    ]


@pytest.mark.parametrize("options", [("--bits", "6"), ("--repetitions", "1"), ("--entries", "10"), ("--epsilons", "0")])
def test_a_setting_without_a_figure_is_refused_in_one_line(
    script: dict[str, Any], options: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["mechanisms.py", *options])
    with pytest.raises(SystemExit, match=r"^mechanisms\.py: .* 7 to 20 bits, .*$"):
        script["main"]()
