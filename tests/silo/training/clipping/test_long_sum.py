"""Sums in double precision."""

import torch

from siloseal.silo.training.clipping.long_sum import LongSum


def test_a_small_gradient_is_not_lost_beside_a_large_sum() -> None:
    total = LongSum([torch.zeros(2)])
    for size in (2.0**40, 1.0, -(2.0**40)):
        total.add([torch.tensor([size, 3.0])])
    (found,) = total.total()
    assert found.dtype == torch.float64
    assert found.tolist() == [1.0, 9.0]


def test_no_gradients_are_zeros_in_the_parameters_shapes() -> None:
    found = LongSum([torch.zeros(2, 3), torch.zeros(1)]).total()
    assert [part.shape for part in found] == [(2, 3), (1,)]
    assert not any(part.any() for part in found)
