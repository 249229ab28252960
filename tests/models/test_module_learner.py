import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from siloseal.federation.errors import ConfigError
from siloseal.models.learner import LabelledRows
from siloseal.models.module_learner import ModuleLearner


class Squares(ModuleLearner[nn.Module]):
    def row_losses(self, rows: LabelledRows) -> Tensor:
        return self.private_module(rows.inputs).square().sum(1)


def learner(average_decay: float = 0.0) -> Squares:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    return Squares(network, average_decay=average_decay, frozen=["0.*"], local=["2.*"])


def moved(found: Squares) -> None:
    with torch.no_grad():
        for parameter in found.private_module.parameters():
            parameter.add_(1.0)
    found.public_step()


def test_only_shared_parameters_are_in_the_vector() -> None:
    found = learner()
    middle = found.private_module[1]  # type: ignore[index]
    assert torch.equal(found.vector(), torch.cat([middle.weight.flatten(), middle.bias]).detach())


def test_a_loaded_vector_changes_neither_frozen_nor_local_parts() -> None:
    found = learner()
    moved(found)
    before = {name: tensor.clone() for name, tensor in found.private_module.state_dict().items()}
    found.load(torch.zeros(12))
    after = found.private_module.state_dict()
    assert [name for name in before if not torch.equal(before[name], after[name])] == ["1.weight", "1.bias"]
    assert not after["1.weight"].any()


def test_the_average_follows_slowly_and_restarts_from_a_loaded_vector() -> None:
    found, start = learner(average_decay=0.99), learner().vector()
    moved(found)
    assert torch.all((found.vector() - start).abs() < 1.0)
    found.load(start)
    assert torch.equal(found.private_module[1].bias, found.shared_model[1].bias)  # type: ignore[index]


def test_the_state_holds_local_parts_and_the_average() -> None:
    found, other = learner(0.9), learner(0.9)
    moved(found)
    other.load_state(safetensors.torch.load(safetensors.torch.save(found.state())))
    assert all(torch.equal(tensor, other.state()[name]) for name, tensor in found.state().items())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_a_network_of_another_type_than_is_summed_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ConfigError, match=f"Squares.*{dtype}"):
        Squares(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1, dtype=dtype)))
