"""What a network makes of many rows, a few at a time."""

import torch
from torch import Tensor, nn

ROWS_AT_ONCE = 1000


def outputs_of(network: nn.Module, inputs: Tensor) -> Tensor:
    """The outputs (N, ...) of the network, without dropout, for inputs (N, ...)."""
    training = network.training
    try:
        with torch.no_grad():
            return torch.cat([network.eval()(rows) for rows in torch.split(inputs, ROWS_AT_ONCE)])
    finally:
        network.train(training)
