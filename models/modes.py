"""Networks that are looked at without being trained."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Switch dropout off and take no gradients; every part gets its own mode back, which parts may differ in."""
    modes = {part: part.training for part in network.modules()}
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, training in modes.items():
            part.training = training
