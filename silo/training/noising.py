"""The two middle verbs of a private step: add noise, scale."""

import torch
from torch import Tensor

from siloseal.federation.randomness import Randomness


def add_noise(clipped_sum: Tensor, *, noise_std: float, randomness: Randomness) -> Tensor:
    """The sum plus N(0, noise_std^2) on every coordinate, where noise_std = noise multiplier x clip norm (sigma C)."""
    noise = torch.from_numpy(randomness.normals(clipped_sum.numel()))
    return clipped_sum.add(noise.view_as(clipped_sum).to(clipped_sum.device), alpha=noise_std)


def scale(noisy_sum: Tensor, expected_batch: float) -> Tensor:
    """The sum divided by the EXPECTED batch (L = q N): dividing by the Poisson sample's size would tell it."""
    return noisy_sum / expected_batch
