"""How long a vector may be: clipping to an L2 norm, and rules that move the norm from round to round.

Rules read released sums only, so they cost nothing beyond what these cost, and everyone can follow them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError

SMALLEST_NORM, LARGEST_NORM = 1e-6, 1e6
"""Bounds of a clip norm that moves: silos take no other."""

_SHRINK = 1 - 1e-6
"""Factor that keeps a clipped vector within the bound: its norm is computed in floats, and may be off by rounding."""


def clip(vector: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """The vector, shortened to this L2 norm if it is longer.

    `DomainError` for one that has no norm, such as NaN: what comes after would make numbers of it that say nothing.
    """
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length):
        raise DomainError(
            "a vector to be clipped holds NaN or infinity; give finite numbers, and lower a learning rate"
        )
    return vector if length <= norm * _SHRINK else vector * (norm * _SHRINK / length)


@dataclass(frozen=True)
class QuantileRule:
    """The clip norm follows a quantile of the silos' norms (Andrew, Thakkar, McMahan and Ramaswamy 2021).

    Each silo says by one more entry of its vector whether its norm is within the present bound. That entry takes
    `share` of the squared norm that the mechanism protects, so one release of one mechanism covers both. For Gaussian
    noise of multiplier z this is the paper's split: the count is noised with sigma_b = z / (2 sqrt(share)) and the
    update with z / sqrt(1 - share) = (z^-2 - (2 sigma_b)^-2)^(-1/2).
    """

    quantile: float
    learning_rate: float
    share: float

    def protected_norm(self, clip_norm: float) -> float:
        """The norm of a clipped vector and its entry together, which is what the mechanism must protect."""
        return clip_norm / math.sqrt(1 - self.share)

    def extend(self, vector: NDArray[np.float64], clip_norm: float) -> NDArray[np.float64]:
        """The clipped vector and the entry: plus where it was within the bound, minus where it was clipped."""
        within = float(np.linalg.norm(vector)) <= clip_norm
        entry = math.sqrt(self.share) * self.protected_norm(clip_norm)
        return np.append(clip(vector, clip_norm), entry if within else -entry)

    def following(self, clip_norm: float, total_entry: float, contributors: int) -> float:
        """The next round's clip norm: it shrinks where more than `quantile` of the vectors were within it."""
        entry = math.sqrt(self.share) * self.protected_norm(clip_norm)
        fraction = min(max((1 + total_entry / (entry * contributors)) / 2, 0.0), 1.0)  # noise knows no bounds
        return clip_norm * math.exp(-self.learning_rate * (fraction - self.quantile))


@dataclass(frozen=True)
class WindowRule:
    """The clip norm is the median length of the last released average updates, times a factor.

    As in DISCO the radius follows the updates of a window of rounds; unlike there, only of what was released: a silo's
    own norms are as private as its data. The length that noise alone would have is taken out of the squares first.
    """

    window: int
    factor: float

    def measured(self, average: NDArray[np.float64], deviation: float) -> float:
        """The length of a released average without its noise, of this standard deviation an entry."""
        return math.sqrt(max(0.0, float(average @ average) - average.size * deviation**2))

    def following(self, clip_norm: float, lengths: list[float]) -> float:
        """The next clip norm from the lengths of earlier averages; it at most halves or doubles in one round."""
        seen = [length for length in lengths[-self.window :] if length > 0]  # where noise drowns it, nothing is known
        target = self.factor * float(np.median(seen)) if seen else clip_norm
        return min(max(target, clip_norm / 2), 2 * clip_norm)
