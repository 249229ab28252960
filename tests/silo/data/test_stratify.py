"""Drawing a part of a data set, with classes in proportion where there are classes."""

import pytest
import torch

from siloseal.silo.data.stratify import one_class_each, stratified_split


def test_classes_keep_their_share() -> None:
    labels = torch.tensor([0] * 30 + [1] * 10)
    drawn, left = stratified_split(labels, count=8, seed=1)
    assert labels[drawn].bincount().tolist() == [6, 2]
    assert len(left) == 32


@pytest.mark.parametrize("labels", [torch.rand(40), torch.zeros(40, 5, dtype=torch.int64)])
def test_other_targets_are_drawn_by_the_seed_alone(labels: torch.Tensor) -> None:
    assert not one_class_each(labels)
    drawn, left = stratified_split(labels, count=8, seed=1)
    assert sorted(torch.cat([drawn, left]).tolist()) == list(range(40))
    assert torch.equal(drawn, stratified_split(torch.rand(40), count=8, seed=1)[0])
    assert not torch.equal(drawn, stratified_split(labels, count=8, seed=2)[0])
