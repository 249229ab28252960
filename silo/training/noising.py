"""The two middle verbs of a private step: add noise, scale."""

import torch
from torch import Tensor

from siloseal.federation.privacy.mechanisms.gaussian_noise import noised
from siloseal.federation.randomness import Randomness


def add_noise(clipped_sum: Tensor, *, noise_std: float, randomness: Randomness) -> Tensor:
    """The flat sum on a grid, with exact Gaussian noise of this deviation on it (`gaussian_noise.py`)."""
    released = noised(clipped_sum.numpy(force=True), noise_std, randomness)
    return torch.from_numpy(released).to(clipped_sum.device)


def scale(noisy_sum: Tensor, expected_batch: float) -> Tensor:
    """The sum divided by the EXPECTED batch (L = q N): dividing by the Poisson sample's size would tell it."""
    return noisy_sum / expected_batch
