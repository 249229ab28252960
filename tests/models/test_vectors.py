"""Networks as vectors: what is summed, and what is refused because a sum would leave it behind."""

import pytest
import torch
from torch import nn

from siloseal.federation.errors import DomainError, MessageError
from siloseal.models.vectors import flatten, load_flat


def test_a_vector_loads_back_into_the_same_networks() -> None:
    first, second = (nn.Sequential(nn.Linear(3, 4), nn.GroupNorm(2, 4), nn.Conv2d(1, 2, 3)) for _ in range(2))
    load_flat([second], flatten([first]))
    assert torch.equal(flatten([first]), flatten([second]))


@pytest.mark.parametrize(
    "layer", [nn.BatchNorm1d(4), nn.BatchNorm1d(4, affine=False), nn.InstanceNorm2d(4, track_running_stats=True)]
)
def test_running_statistics_and_counters_are_refused_and_not_left_behind(layer: nn.Module) -> None:
    network = nn.Sequential(nn.Linear(4, 4), layer)
    with pytest.raises(DomainError, match=r"running_mean.*num_batches_tracked.*GroupNorm"):
        flatten([network])
    with pytest.raises(DomainError, match="buffers"):
        load_flat([network], torch.zeros(20))


def test_integer_buffers_are_refused() -> None:
    network = nn.Linear(2, 2)
    network.register_buffer("steps", torch.tensor(7))
    with pytest.raises(DomainError, match="steps"):
        flatten([network])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_parameters_of_another_precision_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(DomainError, match=str(dtype)):
        flatten([nn.Linear(2, 2, dtype=dtype)])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_vector_with_nan_or_infinity_changes_nothing(value: float) -> None:
    network = nn.Linear(2, 2)
    before, bad = flatten([network]), torch.full((6,), value)
    with pytest.raises(MessageError):
        load_flat([network], bad)
    with pytest.raises(MessageError):
        load_flat([network], torch.zeros(5))
    assert torch.equal(flatten([network]), before)
