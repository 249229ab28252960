"""Coins that carry a value: their number of heads is the value with its noise (Chen, Ozgur and Kairouz 2022).

A silo throws m coins of chance 1/2 + theta x for a value x in [-1, 1]. The sum of heads is unbiased and never wraps.
"""

import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import Randomness

CHANCE_STEP = 2.0**-32
"""Distance of two chances of a coin."""


def heads(values: NDArray[np.float64], trials: int, theta: float, randomness: Randomness) -> NDArray[np.int64]:
    """Heads of each value's coins. A value beyond 1 is cut to it, or its chance would tell more than theta allows."""
    low, high = (math.ceil((0.5 - theta) / CHANCE_STEP), math.floor((0.5 + theta) / CHANCE_STEP))
    chances = 0.5 + theta * np.clip(values, -1, 1)
    thresholds = np.clip(np.rint(chances / CHANCE_STEP), low, high).astype(np.uint32)
    counts = np.zeros(thresholds.size, dtype=np.int64)
    for _ in range(trials):
        counts += np.frombuffer(randomness.bits(4 * counts.size), dtype="<u4") < thresholds
    return counts
