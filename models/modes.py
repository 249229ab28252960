"""Networks that are looked at without being trained."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def kept_modes(network: nn.Module) -> Iterator[None]:
    """Give every part its own mode back afterwards; parts may differ in it."""
    modes = {part: part.training for part in network.modules()}
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Switch dropout off and take no gradients; modes are put back."""
    with kept_modes(network), torch.no_grad():
        network.eval()
        yield
