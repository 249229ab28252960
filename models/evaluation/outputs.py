"""What a network makes of many rows, a few at a time."""

import torch
from torch import Tensor, nn

from siloseal.models.modes import evaluating

ROWS_AT_ONCE = 1000


def outputs_of(network: nn.Module, inputs: Tensor) -> Tensor:
    """The outputs (N, ...) of the network, without dropout, for inputs (N, ...)."""
    with evaluating(network):
        return torch.cat([network(rows) for rows in torch.split(inputs, ROWS_AT_ONCE)])
