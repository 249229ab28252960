"""The low-bit attacker: it asks whether a release can be noise alone, to the last bit (Mironov 2012).

Floating-point noise s n takes some of the floats only: for about a third of them there is no n with fl(s n) equal to
them. A sum with a contribution is a float that noise alone may not reach, and if it is not, nobody need guess. Noise on
a grid has no such bits: whatever is added to it, what leaves is a point of the grid.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MOST_ENTRIES = 4096
"""Most entries that are looked at: one of them is enough where floating-point noise leaks."""


def unreachable(released: Tensor, known: Tensor, noise_std: float) -> int:
    """Number of entries of a noised single-precision sum that no normal value puts there, if the sum was `known`."""
    wanted = ((released - known).double() / noise_std).float()
    reached = torch.zeros_like(released, dtype=torch.bool)
    below = above = wanted
    for _ in range(3):  # the quotient was rounded, so that its neighbours are tried, too
        for candidate in (below, above):
            reached |= known.add(candidate, alpha=noise_std) == released
        below = torch.nextafter(below, torch.full_like(below, -math.inf))
        above = torch.nextafter(above, torch.full_like(above, math.inf))
    return int((~reached).sum())


def unreachable_total(total: NDArray[np.float64], known: NDArray[np.float64], noise_std: float) -> int:
    """Number of entries of a double-precision total that no normal value of single precision puts there."""
    rest = total - known
    normals = (rest / noise_std).astype(np.float32).astype(np.float64)
    return int((known + noise_std * normals != total).sum())
