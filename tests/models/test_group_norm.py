"""Batch norm becomes group norm in the same place, with the same weights, and the network it came from is untouched."""

import pytest
import torch
from torch import nn

from siloseal.models.group_norm import groups_of, with_group_norm


@pytest.mark.parametrize(
    ("channels", "groups"), [(64, 16), (16, 4), (512, 32), (48, 12), (100, 25), (7, 1), (6, 1), (3, 1)]
)
def test_groups_are_equal_and_have_four_channels_or_more(channels: int, groups: int) -> None:
    assert groups_of(channels) == groups


def test_every_batch_norm_is_replaced_wherever_it_stands() -> None:
    shared = nn.BatchNorm2d(16)
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3), shared, nn.ModuleDict({"inner": nn.Sequential(shared, nn.BatchNorm2d(16, affine=False))})
    )
    found = with_group_norm(network)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in found.modules())
    assert found[1] is found[2]["inner"][0]
    assert found[2]["inner"][1].weight is None
    assert network[1] is shared
    assert not dict(found.named_buffers())


def test_weights_modes_and_what_is_frozen_stay() -> None:
    norm = nn.BatchNorm1d(8, eps=1e-3).double().eval()
    nn.init.uniform_(norm.weight)
    norm.bias.requires_grad_(False)
    found = with_group_norm(norm)
    assert isinstance(found, nn.GroupNorm)
    assert torch.equal(found.weight, norm.weight)
    assert found.weight.dtype == torch.float64
    assert (found.eps, found.training) == (1e-3, False)
    assert (found.weight.requires_grad, found.bias.requires_grad) == (True, False)


def test_the_converted_network_still_tells_rows_apart() -> None:
    torch.manual_seed(0)
    network = with_group_norm(nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)))
    rows = torch.randn(4, 5)
    together, alone = network(rows), torch.cat([network(row[None]) for row in rows])
    torch.testing.assert_close(together, alone)
    assert len({tuple(row.tolist()) for row in together}) == 4
