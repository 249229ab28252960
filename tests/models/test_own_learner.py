from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.supervised import PythonConfig
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner
from siloseal.models.own_learner import build_own_learner, checked_learner


class Own(ModuleLearner[nn.Module]):
    def row_losses(self, rows: LabelledRows) -> Tensor:
        return self.private_module(rows.inputs).square().sum(1)


class OfTasks(Own):
    def task_gradients(self, tasks: Any) -> Iterator[Tensor]:
        yield from ()


def test_a_learner_of_examples_is_taken() -> None:
    learner = Own(nn.Linear(2, 2))
    assert checked_learner(learner, "mylab:Own") is learner


@pytest.mark.parametrize("found", [nn.Linear(2, 2), ModuleLearner(nn.Linear(2, 2)), OfTasks(nn.Linear(2, 2))])
def test_anything_else_is_refused(found: object) -> None:
    with pytest.raises(ConfigError):
        checked_learner(found, "mylab:Own")


SOURCE = """
import random

import siloseal
from torch import nn


class Steady(siloseal.ModuleLearner):
    def __init__(self, shape, classes, options):
        super().__init__(nn.Linear(shape[0], classes))

    def row_losses(self, rows):
        return self.private_module(rows.inputs).square().sum(1)


class Unsteady(Steady):
    def __init__(self, shape, classes, options):
        super().__init__(shape, classes, options)
        self.load(self.vector() * random.SystemRandom().random())


class Older(Steady):
    def __init__(self, shape, classes):
        super().__init__(shape, classes, {})
"""


@pytest.mark.parametrize(("name", "taken"), [("Steady", True), ("Unsteady", False), ("Older", False)])
def test_one_seed_must_build_one_learner_from_shape_classes_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, taken: bool
) -> None:
    (tmp_path / f"own_{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    config = PythonConfig(kind="python", target=f"own_{name}:{name}")
    if taken:
        assert len(build_own_learner(config, (3,), 2, seed=0).vector()) == 8
        return
    with pytest.raises(ConfigError) as refused:
        build_own_learner(config, (3,), 2, seed=0)
    assert f"own_{name}.py" in str(refused.value)
