"""The network of the FedAvg paper."""

import torch

from siloseal.experiments.two_hidden_layers import build


def test_it_has_as_many_parameters_as_the_papers() -> None:
    network = build((1, 28, 28), 10)
    assert sum(parameter.numel() for parameter in network.parameters()) == 199_210
    assert network(torch.zeros(3, 1, 28, 28)).shape == (3, 10)
