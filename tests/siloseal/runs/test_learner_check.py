"""What can be put on trial, and what cannot be built at all."""

from typing import Any

import pytest
import torch

import siloseal
from siloseal.runs.learner_check import check


class Linear(siloseal.ModuleLearner[torch.nn.Module]):
    def __init__(self, shape: tuple[int, ...], classes: int, options: dict[str, Any]) -> None:
        super().__init__(torch.nn.Linear(shape[0], max(1, classes)))

    def row_losses(self, rows: siloseal.LabelledRows) -> torch.Tensor:
        return self.private_module(rows.inputs).square().sum(1)


@pytest.mark.parametrize("classes", [0, 3])
def test_a_class_is_tried_with_classes_or_measured_targets(classes: int) -> None:
    assert all(found.kept for found in check(Linear, (4,), classes, (), {}))


@pytest.mark.parametrize(
    "learner",
    [3, "no target", "nowhere_to_be_found:X", lambda *_: torch.nn.Linear(1, 1), lambda shape: Linear(shape, 3, {})],
)
def test_what_is_no_learner_is_refused(learner: Any) -> None:
    with pytest.raises(siloseal.ConfigError):
        check(learner, (4,), 3, (), {})


@pytest.mark.parametrize(
    ("shape", "classes", "label_shape"),
    [((), 3, ()), ((0,), 3, ()), ((4,), -1, ()), ((4,), 3, (0,)), ((10**9,), 3, ())],
)
def test_impossible_shapes_are_refused(shape: tuple[int, ...], classes: int, label_shape: tuple[int, ...]) -> None:
    with pytest.raises(siloseal.ConfigError):
        check(Linear, shape, classes, label_shape, {})
