"""Every learner of the benchmark takes a private and a plain step, and no figure is missing."""

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "meta.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("learner", ["protonet", "embedding"])
def test_a_learner_gets_every_figure(script: dict[str, Any], learner: str) -> None:
    """The other two take seconds for each task."""
    found = script["measure"](script["LEARNERS"][learner], 1)
    assert found.keys() == {"private_tasks_per_s", "plain_tasks_per_s", "fraction_of_plain"}
    assert all(value > 0 for key, value in found.items() if key.endswith("_per_s"))


def test_every_few_shot_learner_is_measured(script: dict[str, Any]) -> None:
    assert script["LEARNERS"].keys() == {"protonet", "reptile", "meta_lstm", "embedding"}
