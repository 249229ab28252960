"""Which part of a module is averaged: as a vector, and back."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from siloseal.federation.errors import ConfigError, DomainError
from siloseal.models.module_state import load_vector, state_of, to_vector


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))


def test_a_vector_goes_back_to_where_it_came_from() -> None:
    module = network()
    state = state_of(module, ["2.*"])
    vector = to_vector(module, state, largest=10.0)
    assert len(vector) == state.structure.length == 3 * 2 + 2 + 4 * 2
    other = network()
    nn.init.zeros_(other[0].weight)
    load_vector(other, state, vector.astype(np.float32))
    for name, value in module.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


def test_what_is_not_averaged_is_named_and_stays() -> None:
    module = network()
    state = state_of(module, ["2.*"])
    assert state.kept == ("1.num_batches_tracked", "2.weight", "2.bias")
    before = {name: module.state_dict()[name].clone() for name in state.kept}
    load_vector(module, state, np.ones(state.structure.length, dtype=np.float32))
    assert all(torch.equal(module.state_dict()[name], value) for name, value in before.items())
    assert torch.equal(module[0].weight, torch.ones(2, 3))


def test_each_entry_keeps_its_own_type() -> None:
    module = nn.ModuleList([nn.Linear(2, 2).to(kind) for kind in (torch.float16, torch.bfloat16, torch.float64)])
    state = state_of(module)
    assert state.rounding == torch.finfo(torch.bfloat16).eps
    load_vector(module, state, np.full(18, 0.1, dtype=np.float32))
    assert [each.weight.dtype for each in module] == [torch.float16, torch.bfloat16, torch.float64]


@pytest.mark.parametrize(
    "other",
    [
        lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 2)),
        lambda: network().double(),
        lambda: nn.ModuleDict({"a": network()}),
        lambda: nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(2), nn.Linear(2, 1)),
    ],
)
def test_another_name_type_or_shape_is_another_structure(other: Callable[[], nn.Module]) -> None:
    assert state_of(other()).structure.digest != state_of(network()).structure.digest


def with_parameter(value: torch.Tensor) -> nn.Module:
    module = nn.Linear(1, 1)
    module.register_parameter("own", nn.Parameter(value, requires_grad=False))
    return module


@pytest.mark.parametrize(
    ("module", "exclude"),
    [
        (network(), ["heads.*"]),
        (network(), ["*"]),
        (nn.ReLU(), []),
        (with_parameter(torch.ones(2, dtype=torch.complex64)), []),
        (with_parameter(torch.ones(2, dtype=torch.int64)), []),
        (nn.Linear(2, 2, device="meta"), []),
        (nn.LazyLinear(2), []),
        (with_parameter(torch.eye(2).to_sparse()), []),
    ],
)
def test_a_module_that_cannot_be_averaged_as_it_is_asked_is_refused(module: nn.Module, exclude: list[str]) -> None:
    with pytest.raises(ConfigError):
        state_of(module, exclude)


def test_an_average_of_another_length_is_refused_and_nothing_is_changed() -> None:
    module = network()
    with pytest.raises(ConfigError):
        load_vector(module, state_of(module), np.zeros(3, dtype=np.float32))
    assert torch.equal(module[0].weight, network()[0].weight)


@pytest.mark.parametrize("value", [1.0000001, float("nan"), float("-inf")])
def test_an_entry_beyond_the_bound_is_named(value: float) -> None:
    module = nn.Linear(1, 1).double()
    nn.init.constant_(module.weight, 1.0)
    nn.init.constant_(module.bias, value)
    with pytest.raises(DomainError, match="bias"):
        to_vector(module, state_of(module), largest=1.0)
    nn.init.constant_(module.bias, -1.0)
    assert to_vector(module, state_of(module), largest=1.0).tolist() == [1.0, -1.0]
