"""First weights from a file: all of them, of the file that the job pins, or none."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from siloseal.federation.errors import CodeMismatch, ConfigError
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network
from siloseal.models.classifier.weights import load_weights

Tensors = dict[str, Tensor]


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 3))


def config(path: Path, **fields: Any) -> ClassifierConfig:
    return ClassifierConfig.model_validate({"kind": "classifier", "model": "logistic", "weights": path, **fields})


@pytest.fixture
def tensors() -> Tensors:
    return {"1.weight": torch.rand(3, 4), "1.bias": torch.rand(3)}


def test_the_network_begins_with_the_weights_of_the_file(tmp_path: Path, tensors: Tensors) -> None:
    safetensors.torch.save_file(tensors, file := tmp_path / "first.safetensors")
    digest = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    for pinned in (None, digest):
        built = build_network(config(file, weights_source=pinned), (2, 2), 3, seed=1)
        assert all(torch.equal(built.state_dict()[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda tensors: tensors.pop("1.bias"), r"1\.bias"),
        (lambda tensors: tensors.update(extra=torch.zeros(1)), "extra"),
        (lambda tensors: tensors.update({"1.bias": torch.zeros(4)}), r"\(4,\)"),
        (lambda tensors: tensors.update({"1.bias": torch.zeros(3, dtype=torch.float64)}), r"float64"),
        (lambda tensors: tensors.update({"1.bias": torch.full((3,), float("nan"))}), r"1\.bias"),
    ],
    ids=["missing", "unknown", "shape", "type", "nan"],
)
def test_weights_that_do_not_fit_are_refused_and_change_nothing(
    tmp_path: Path, tensors: Tensors, spoil: Callable[[Tensors], object], says: str
) -> None:
    spoil(tensors)
    safetensors.torch.save_file(tensors, file := tmp_path / "first.safetensors")
    built = network()
    before = {name: tensor.clone() for name, tensor in built.state_dict().items()}
    with pytest.raises(ConfigError, match=says):
        load_weights(built, config(file))
    assert all(torch.equal(tensor, before[name]) for name, tensor in built.state_dict().items())


def test_another_file_than_the_pinned_one_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (file := tmp_path / "first.safetensors").write_bytes(b"anything")
    with pytest.raises(CodeMismatch, match="first"):
        load_weights(network(), config(file, weights_source=f"sha256:{'0' * 64}"))


@pytest.mark.parametrize("content", [b"", b"anything", bytes(100)])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (file := tmp_path / "first.safetensors").write_bytes(content)
    with pytest.raises(ConfigError, match="first"):
        load_weights(network(), config(file))


def test_many_names_are_counted(tmp_path: Path) -> None:
    many = {f"layer{number:02}": torch.zeros(1) for number in range(30)}
    safetensors.torch.save_file(many, file := tmp_path / "first.safetensors")
    with pytest.raises(ConfigError, match="20 more"):
        load_weights(network(), config(file))
