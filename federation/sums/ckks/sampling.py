"""Sampling of short polynomials, for keys and errors."""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.exact_noise import discrete_gaussian
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.ckks.security import VARIANCE


def draw_short(randomness: Randomness, count: int) -> NDArray[np.int64]:
    """Draw `count` entries of a key or of errors: discrete Gaussian, within 2^-120 of it in total variation."""
    return discrete_gaussian(float(VARIANCE)).draw(count, randomness)
