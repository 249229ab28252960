import pytest
import torch
from torch import nn

from siloseal.federation.errors import ConfigError
from siloseal.models.parts import freeze, named, shared_parameters


def network() -> nn.Module:
    parts = {"body": nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4)), "head": nn.Linear(4, 2)}
    return nn.ModuleDict(parts)


def test_patterns_name_parameters() -> None:
    assert named(network(), ["body.0.*", "head.bias"], "local") == {"body.0.weight", "body.0.bias", "head.bias"}
    assert named(network(), ["*.weight"], "local") == {"body.0.weight", "body.1.weight", "head.weight"}
    assert named(network(), ["body.[01].bias"], "local") == {"body.0.bias", "body.1.bias"}
    assert named(network(), [], "local") == set()


def test_a_pattern_without_a_parameter_is_refused() -> None:
    with pytest.raises(ConfigError):
        named(network(), ["tail.*"], "frozen")


def test_what_is_neither_frozen_nor_local_is_shared_in_order() -> None:
    made = network()
    shared = shared_parameters(made, frozen=["body.0.*"], local=["head.*"])
    assert [tuple(parameter.shape) for parameter in shared] == [(4, 4), (4,)]
    assert shared[0] is made.get_parameter("body.1.weight")


def test_there_is_something_to_share_and_to_train() -> None:
    with pytest.raises(ConfigError):
        shared_parameters(network(), frozen=["body.*"], local=["head.*"])
    with pytest.raises(ConfigError):
        freeze(network(), ["*"])


def test_frozen_parameters_get_no_gradient() -> None:
    made = network()
    freeze(made, ["body.*"])
    trained = [name for name, parameter in made.named_parameters() if parameter.requires_grad]
    assert trained == ["head.weight", "head.bias"]
    assert torch.is_grad_enabled()


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.middle, self.head = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
        self.head.weight = self.body.weight


def test_a_weight_with_two_names_stays_or_leaves_under_both() -> None:
    for patterns in (["head.*"], ["body.weight"]):
        with pytest.raises(ConfigError):
            shared_parameters(Tied(), frozen=[], local=patterns)
        with pytest.raises(ConfigError):
            freeze(Tied(), patterns)
    shared = shared_parameters(Tied(), frozen=[], local=["head.*", "body.weight"])
    assert len(shared) == 3


class Views(nn.Module):
    """Two parameters that are different objects on one and the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 3)
        self.head.weight = nn.Parameter(self.body.weight.detach())


def test_two_parameters_on_one_memory_stay_or_leave_together() -> None:
    made = Views()
    assert made.head.weight is not made.body.weight
    with pytest.raises(ConfigError):
        shared_parameters(made, frozen=[], local=["head.*"])
    with pytest.raises(ConfigError):
        freeze(made, ["body.*"])


def test_what_is_frozen_is_not_local_too() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with pytest.raises(ConfigError):
        shared_parameters(network, frozen=["0.*"], local=["0.weight"])
