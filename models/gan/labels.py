"""How a network is told the class: one-hot, as loud as its other inputs."""

import torch
from torch import Tensor

LOUDNESS = 4.0
"""The label's entry. A generator's noise has norm 4 (16 inputs) and an MNIST image about 9, which drown a plain 1: in
single trials at 14x14 a private GAN with 1 took twice the steps of one with 3. Larger values learn faster at first; 6
fell back after 1,000 steps at 28x28."""


def one_hot(labels: Tensor, classes: int, like: Tensor) -> Tensor:
    """Rows (rows, classes) with LOUDNESS at the label."""
    known = torch.arange(classes, device=labels.device)
    return LOUDNESS * (labels[:, None] == known).to(like.dtype)  # torch's own does not pass vmap


def beside(rows: Tensor, labels: Tensor, classes: int) -> Tensor:
    """The rows, each with its label after it."""
    return torch.cat([rows, one_hot(labels, classes, rows)], dim=1)
