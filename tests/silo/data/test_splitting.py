"""Which examples are held out and kept, whatever their targets are."""

import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import NpzFile
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.splitting import finished, split_classes, split_examples

ROWS = torch.arange(40, dtype=torch.float32).unsqueeze(1)
TARGETS = {
    "classes": Examples(ROWS, torch.arange(40) % 4, 4),
    "measured": Examples(ROWS, torch.linspace(0, 1, 40), 0),
    "masks": Examples(ROWS, (torch.arange(120) % 2).reshape(40, 3), 2),
}


@pytest.mark.parametrize("targets", TARGETS)
def test_every_kind_of_target_is_split_the_same_way_twice_and_without_overlap(targets: str) -> None:
    whole = TARGETS[targets]
    (train, held_out), again = split_examples(whole, 0.25), split_examples(whole, 0.25)
    assert (len(train), len(held_out)) == (30, 10)
    assert torch.equal(torch.cat([train.inputs, held_out.inputs]).flatten().sort().values, ROWS.flatten())
    assert torch.equal(held_out.inputs, again[1].inputs)
    assert held_out.classes == whole.classes


def test_measured_targets_are_held_out_at_random_and_not_in_order() -> None:
    _, held_out = split_examples(TARGETS["measured"], 0.25)
    assert held_out.inputs.flatten().tolist() not in (list(range(10)), list(range(30, 40)))


@pytest.mark.parametrize("targets", ["measured", "masks"])
def test_only_classes_can_be_held_out_as_classes(targets: str) -> None:
    with pytest.raises(DataError):
        split_classes(TARGETS[targets], 0.25)
    train, held_out = split_classes(TARGETS["classes"], 0.25)
    assert not train.label_set() & held_out.label_set()


@pytest.mark.parametrize("targets", TARGETS)
def test_a_limit_keeps_so_many_of_any_target(targets: str) -> None:
    kept = finished(TARGETS[targets], NpzFile.model_validate({"path": "x", "limit": 12}))
    assert len(kept) == 12


def test_one_example_cannot_be_split_and_none_is_no_part() -> None:
    one = TARGETS["measured"].select(torch.tensor([3]))
    with pytest.raises(DataError):
        split_examples(one, 0.5)
    with pytest.raises(DataError):
        finished(one.select(torch.tensor([], dtype=torch.int64)), NpzFile.model_validate({"path": "x"}))
