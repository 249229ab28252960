"""The fully connected network of the FedAvg paper, as a model of the user's own: one function in one file.

learner: {kind: classifier, model: "siloseal.experiments.two_hidden_layers:build"}
"""

import math

from torch import nn

WIDTH = 200


def build(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Two hidden layers of 200 units each (the 2NN of McMahan et al. 2017: 199,210 parameters on MNIST)."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, classes),
    )
