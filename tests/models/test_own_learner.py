from collections.abc import Iterator
from typing import Any

import pytest
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner
from siloseal.models.own_learner import checked_learner


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
