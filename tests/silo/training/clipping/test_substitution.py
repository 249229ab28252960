"""A network with other parameters gives what a network gives that has them, and has its own again afterwards."""

import copy

import pytest
import torch
from torch import nn

from siloseal.silo.training.clipping.substitution import call_with
from tests.silo.training.clipping.networks import case_of


def held(network: nn.Module) -> dict[tuple[nn.Module, str], nn.Parameter | None]:
    return {(part, local): own for part in network.modules() for local, own in part._parameters.items()}


@pytest.mark.parametrize(
    "name", ["linear", "layer with two names", "tied weights", "layer that runs twice", "frozen parts"]
)
def test_other_parameters_stand_in_every_place_and_the_own_ones_come_back(name: str) -> None:
    case = case_of(name)
    before, rows, other = held(case.module), case.public_rows(5), copy.deepcopy(case.module)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn_like(parameter))
    found = call_with(case.module, {name: part.detach() for name, part in other.named_parameters()}, (rows.inputs,))
    torch.testing.assert_close(found, other(rows.inputs))
    assert not torch.equal(found, case.module(rows.inputs))
    assert all(own is before[place] for place, own in held(case.module).items())
