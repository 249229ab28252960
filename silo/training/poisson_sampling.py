"""Poisson sampling, the only sampling that the privacy accountant's amplification holds for."""

import numpy as np
import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.randomness import Randomness


def poisson_sample(n: int, rate: float, randomness: Randomness) -> Tensor:
    """Indices in [0, n), each present independently with probability `rate` (the paper's q), ascending; maybe none.

    Amplification by sampling counts on nobody knowing who was drawn, so private training passes `SecureRandomness`:
    a seeded shuffle would hand the sample to whoever knows the seed, and the stated epsilon would be wrong.
    """
    if not 0.0 <= rate <= 1.0:
        raise DataError(f"the sampling rate is {rate:g}, expected a probability; give batch size / number of examples")
    return torch.from_numpy(np.flatnonzero(randomness.uniforms(n) < rate))
