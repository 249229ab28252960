"""The likeness of records: real ones are like themselves, and shuffled ones keep their marginals alone."""

import pytest
import torch

from siloseal.experiments.drawn_patients import DECLARED, draw_patients
from siloseal.experiments.table_likeness import likeness
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.records import encode
from siloseal.silo.data.splitting import Parts, split_examples


@pytest.fixture(scope="module")
def parts() -> Parts:
    return split_examples(encode(draw_patients(1500, seed=0), DECLARED), 0.5)


def test_real_records_are_like_themselves_and_teach_something(parts: Parts) -> None:
    train, held_out = parts
    found = likeness(train, train=train, held_out=held_out)
    assert (found.marginals, found.correlations) == (0, 0)
    assert found.accuracy > 0.8
    assert min(found.auc, found.forest_auc) > 0.88


def test_columns_shuffled_apart_keep_their_marginals_but_nothing_else(parts: Parts) -> None:
    train, held_out = parts
    random = torch.Generator().manual_seed(0)
    apart = [column[torch.randperm(len(train), generator=random)] for column in train.inputs.T]
    found = likeness(Examples(torch.stack(apart, 1), train.labels, train.classes), train=train, held_out=held_out)
    assert found.marginals == pytest.approx(0, abs=1e-7)
    assert found.correlations > 0.1
    assert found.forest_auc < 0.7


def test_an_input_that_never_changes_is_correlated_with_nothing(parts: Parts) -> None:
    train, held_out = parts
    inputs = train.inputs.clone()
    inputs[:, 0] = 0.5
    constant = Examples(inputs, train.labels, train.classes)
    found = likeness(constant, train=constant, held_out=held_out)
    assert found.correlations == 0
