"""The exact Renyi curve of a bit that is a fair coin where a unit is, and seldom 1 where it is not.

Without the unit the bit is 1 with chance f, with it 1/2. Write 1 - 2 f = tanh(a), the contrast, and h = ln cosh. Then
f = e^-a / (2 cosh a) and 1 - f = e^a / (2 cosh a), so with the definition of the divergence

    D_alpha(coin || rare) = h(a) + h((alpha - 1) a) / (alpha - 1),
    D_alpha(rare || coin) = (h(alpha a) - alpha h(a)) / (alpha - 1).

A unit may come or go, so the larger counts; it was the first one wherever both were computed. A Gaussian release of
noise multiplier 1 / a lies above both, because h(x) <= x^2 / 2. But where alpha is large these two end at
-ln(1 - tanh a), a loss that is never exceeded, and the Gaussian's does not end.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def random_bit_curve(orders: Sequence[float], *, contrast: float) -> Numbers:
    """Renyi divergence at these orders, the larger of both directions."""
    alpha, a = np.asarray(orders, dtype=np.float64), math.atanh(contrast)
    alone = _log_cosh(np.array(a))
    appears = alone + _log_cosh((alpha - 1) * a) / (alpha - 1)
    goes = (_log_cosh(alpha * a) - alpha * alone) / (alpha - 1)
    return np.asarray(np.maximum(appears, goes), dtype=np.float64)


def _log_cosh(x: Numbers) -> Numbers:
    """The logarithm of cosh x, x >= 0: without overflow where x is large, without cancellation where it is small."""
    near = np.log1p(2 * np.sinh(np.minimum(x, 1.0) / 2) ** 2)  # cosh x = 1 + 2 sinh^2(x / 2)
    return np.asarray(np.where(x < 1, near, x + np.log1p(np.exp(-2 * x)) - math.log(2)), dtype=np.float64)
