"""Every way of the benchmark takes its step, and no figure is missing."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dp_training.py"
FIELDS = {
    "ours_examples_per_s", "opacus_examples_per_s", "plain_examples_per_s", "speedup_over_opacus", "fraction_of_plain",
    "noise_share", "single_precision_noise_share",
}  # fmt: skip


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The script with batches of a few rows."""
    found = runpy.run_path(str(SCRIPT))
    monkeypatch.setitem(found["measure"].__globals__, "ROWS", dict.fromkeys(found["ROWS"], 4))
    return found


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name, ways in runpy.run_path(str(SCRIPT))["WAYS"].items() for way in ways]
)
def test_a_step_moves_the_network_and_leaves_it_finite(script: dict[str, Any], name: str, way: str) -> None:
    step = script["Step"](name, way)
    before = [parameter.detach().clone() for parameter in step.network.parameters()]
    step.take(2)
    after = list(step.network.parameters())
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    assert all(bool(torch.isfinite(new).all()) for new in after)


def test_a_network_gets_every_figure(script: dict[str, Any]) -> None:
    found = script["measure"]("mlp", 1)
    assert found.keys() == FIELDS
    alone = {"row_by_row_examples_per_s", "row_by_row_speedup_over_opacus"}
    assert script["measure"]("transformer", 1).keys() == FIELDS | alone
    assert all(value > 0 for key, value in found.items() if key.endswith("_per_s"))
    assert all(0 < value < 1 for key, value in found.items() if key.endswith("_share"))
