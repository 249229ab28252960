"""Sums of gradients over many rows."""

import torch
from torch import Tensor

from siloseal.silo.training.clipping.long_sum import SINGLE_ROWS, LongSum


def summed(gradients: Tensor, *, rows: int) -> Tensor:
    total = LongSum([torch.zeros(gradients.shape[1])])
    for gradient in gradients:
        total.add([gradient], rows=rows)
    (found,) = total.total()
    return found


def test_a_sum_of_few_rows_stays_in_single_precision() -> None:
    found = summed(torch.ones(4, 3), rows=SINGLE_ROWS // 4)
    assert found.dtype == torch.float32
    assert found.tolist() == [4.0] * 3


def test_nothing_is_lost_between_the_sums_that_single_precision_adds() -> None:
    """A number that single precision would lose beside the sum before it."""
    gradients = torch.tensor([[2.0**30], [1.0], [-(2.0**30)], [1.0]])
    assert gradients.sum() != 2
    for rows in (SINGLE_ROWS, 2 * SINGLE_ROWS):
        found = summed(gradients, rows=rows)
        assert found.dtype == torch.float64
        assert found.item() == 2


def test_the_total_may_be_asked_for_between_additions() -> None:
    total = LongSum([torch.zeros(1)])
    for number in range(5):
        assert [part.item() for part in total.total()] == [number]
        total.add([torch.ones(1)], rows=SINGLE_ROWS // 2)


def test_a_sum_over_no_rows_is_zero() -> None:
    assert summed(torch.zeros(0, 2), rows=1).tolist() == [0.0, 0.0]
