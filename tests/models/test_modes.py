from contextlib import suppress

import torch
from torch import nn

from siloseal.models.modes import evaluating, kept_modes


def test_every_part_gets_its_own_mode_back() -> None:
    network = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3).eval())
    with evaluating(network):
        assert not any(part.training for part in network.modules())
        assert not torch.is_grad_enabled()
    assert [part.training for part in network.modules()] == [True, True, False]
    assert torch.is_grad_enabled()


def test_modes_are_put_back_after_an_error() -> None:
    network = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(3).eval())
    with suppress(ZeroDivisionError), kept_modes(network):
        network.eval()[1].train()
        raise ZeroDivisionError
    assert [part.training for part in network.modules()] == [True, True, False]
