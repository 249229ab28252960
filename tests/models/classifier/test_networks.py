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
}


def test_every_network_is_tried() -> None:
    assert set(SHAPES) == set(get_args(BuiltInNetwork))


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_a_network_gives_each_example_one_number_a_class(name: BuiltInNetwork, shape: Shape) -> None:
    network = built_in(name, shape, 3)
    assert network(torch.rand(5, *shape)).shape == (5, 3)


@pytest.mark.parametrize(("name", "shape"), [(name, shapes[0]) for name, shapes in SHAPES.items()])
def test_no_example_moves_the_outputs_of_another(name: BuiltInNetwork, shape: Shape) -> None:
    rows = torch.rand(4, *shape, requires_grad=True)
    built_in(name, shape, 3)(rows)[1].sum().backward()
    assert rows.grad is not None
    assert rows.grad.flatten(1).abs().sum(1).nonzero().flatten().tolist() == [1]


@pytest.mark.parametrize("name", ["cnn", "resnet"])
def test_convolutions_want_images(name: BuiltInNetwork) -> None:
    with pytest.raises(DataError):
        built_in(name, (7,), 3)
