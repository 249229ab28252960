"""Drawn patients: their columns are the declared ones, and hang together as the law says."""

import torch

from siloseal.experiments.drawn_patients import DECLARED, WARDS, draw_patients
from siloseal.silo.data.records import encode


def test_every_record_fits_the_declaration() -> None:
    records = encode(draw_patients(300, seed=0), DECLARED)  # refuses what is empty, or a class that is not listed
    assert records.shape == (DECLARED.inputs,)
    categories = torch.split(records.inputs[:, 4:], [2, 2, len(WARDS)], dim=1)
    assert all((inputs.sum(1) == 1).all() for inputs in categories)
    assert records.label_set() == {0, 1}


def test_equal_seeds_draw_equal_patients() -> None:
    first, again, other = (encode(draw_patients(50, seed=seed), DECLARED).inputs for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_readmitted_are_older_and_have_more_creatinine() -> None:
    # Each difference of means is above 10 standard errors at this size, and the seed is fixed.
    records = encode(draw_patients(4000, seed=0), DECLARED)
    back, not_back = (records.inputs[records.labels == label].mean(0) for label in (1, 0))
    assert (back - not_back)[:2].min() > 0.03
