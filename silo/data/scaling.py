"""From measured numbers to [0, 1], by declared bounds: bounds from data would tell on whoever lies at them."""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.config.fields import Range

Floats = NDArray[np.float64]


def scaled(values: Floats, bounds: Range, *, log: bool = False) -> Floats:
    """Numbers of the range as 0 to 1; beyond it, the nearest bound. NaN stays."""
    low, high = bounds
    clipped = np.clip(values, low, high)
    parts: Floats = np.log(clipped / low) / np.log(high / low) if log else (clipped - low) / (high - low)
    return parts
