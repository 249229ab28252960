import torch
from torch import nn

from siloseal.models.modes import evaluating


def test_every_part_gets_its_own_mode_back() -> None:
    network = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3).eval())
    with evaluating(network):
        assert not any(part.training for part in network.modules())
        assert not torch.is_grad_enabled()
    assert [part.training for part in network.modules()] == [True, True, False]
    assert torch.is_grad_enabled()
