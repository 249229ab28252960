"""A user's own network: what is taken, and what is refused before anything is trained."""

from collections.abc import Iterator

import pytest
import torch

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.supervised import ClassifierConfig
from siloseal.models.classifier.building import build_network

SOURCE = """
import numpy
import torch
from torch import nn

def right(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(8, classes))

def not_a_network(shape, classes):
    return "network"

def wrong_outputs(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(8, classes + 1))

def two_outputs(shape, classes):
    class Pair(nn.Linear):
        def forward(self, rows):
            return super().forward(rows.flatten(1)), rows
    return Pair(8, classes)

def wrong_inputs(shape, classes):
    return nn.Linear(5, classes)

def doubles(shape, classes):
    return right(shape, classes).double()

def fails(shape, classes):
    raise ZeroDivisionError("no such shape")

def draws_elsewhere(shape, classes):
    network = right(shape, classes)
    with torch.no_grad():
        network[1].weight += float(numpy.random.default_rng().random())
    return network

def lazy(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(classes))

def one_parameter(shape):
    return right(shape, 3)

number = 3
"""


@pytest.fixture(scope="module", autouse=True)
def own_networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("code")
    (folder / "own_networks.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


def build(name: str, seed: int = 0) -> torch.nn.Module:
    config = ClassifierConfig(kind="classifier", model=f"own_networks:{name}")
    return build_network(config, (2, 4), 3, seed=seed)


def test_a_function_of_the_users_own_builds_the_network_from_the_jobs_seed() -> None:
    one, same, other = build("right"), build("right"), build("right", seed=1)
    assert torch.equal(one[1].weight, same[1].weight)  # type: ignore[index]
    assert not torch.equal(one[1].weight, other[1].weight)  # type: ignore[index]
    assert one.training


@pytest.mark.parametrize(
    "name",
    [
        *("not_a_network", "wrong_outputs", "two_outputs", "wrong_inputs", "doubles", "fails", "number", "missing"),
        *("draws_elsewhere", "lazy", "one_parameter"),
    ],
)
def test_what_is_no_classifier_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        build(name)
