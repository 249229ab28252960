"""The two middle verbs of a private step: add noise, scale."""

import torch
from torch import Tensor

from siloseal.federation.privacy.mechanisms.gaussian_noise import release_noised
from siloseal.federation.randomness import Randomness


def add_noise(clipped_sum: Tensor, *, noise_std: float, randomness: Randomness) -> Tensor:
    """The flat sum on a grid, with exact Gaussian noise of this deviation on it (`gaussian_noise.py`).

    It is single precision, whatever the sum is.
    """
    released = torch.empty(clipped_sum.shape, dtype=torch.float32)
    release_noised(clipped_sum.numpy(force=True), released.numpy(), noise_std, randomness)
    return released.to(clipped_sum.device)


def scale(noisy_sum: Tensor, expected_batch: float) -> Tensor:
    """The sum divided by the EXPECTED batch (L = q N): dividing by the Poisson sample's size would tell it."""
    return noisy_sum / expected_batch
