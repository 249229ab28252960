from typing import get_args

import pytest
import torch

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.supervised import BuiltInNetwork
from siloseal.federation.shapes import Shape
from siloseal.models.classifier.networks import built_in

SHAPES: dict[BuiltInNetwork, list[Shape]] = {
    "logistic": [(7,), (1, 8, 8), (2, 3, 4, 5)],
    "mlp": [(7,), (1, 8, 8)],
    "cnn": [(1, 8, 8), (3, 28, 28), (1, 33, 20)],
    "resnet": [(1, 8, 8), (3, 28, 28), (1, 33, 20)],
    "scattering": [(1, 8, 8), (3, 28, 28), (1, 33, 20)],
}


def test_every_network_is_tried() -> None:
    assert set(SHAPES) == set(get_args(BuiltInNetwork))


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_a_network_gives_each_example_one_number_a_class(name: BuiltInNetwork, shape: Shape) -> None:
    network = built_in(name, shape, 3)
    assert network(torch.rand(5, *shape)).shape == (5, 3)


@pytest.mark.parametrize(("name", "shape"), [(name, shapes[0]) for name, shapes in SHAPES.items()])
def test_no_example_moves_the_outputs_of_another(name: BuiltInNetwork, shape: Shape) -> None:
    network, rows, others = built_in(name, shape, 3), torch.rand(4, *shape), torch.rand(4, *shape)
    others[1] = rows[1]
    assert torch.allclose(network(rows)[1], network(others)[1], atol=1e-6)
    assert not torch.allclose(network(rows)[0], network(others)[0], atol=1e-4)


@pytest.mark.parametrize("name", ["cnn", "resnet", "scattering"])
def test_convolutions_want_images(name: BuiltInNetwork) -> None:
    with pytest.raises(DataError):
        built_in(name, (7,), 3)
