import torch
from torch import nn

from siloseal.models.evaluation.outputs import ROWS_AT_ONCE, outputs_of


def test_many_rows_give_the_same_as_all_at_once_and_dropout_is_off() -> None:
    network = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    rows = torch.rand(ROWS_AT_ONCE + 7, 3)
    assert torch.allclose(outputs_of(network, rows), network[0](rows))
    assert network.training
