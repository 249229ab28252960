"""The size of the noise, measured: a second test, which takes the shape of the noise for granted.

The auditor knows all but the noise, so what is left after subtracting is the noise itself. If each entry is normal
with standard deviation s at least, then the sum of squares of n entries over s^2 is at least a chi-square variable
with n degrees of freedom. With millions of entries that finds noise which is too small by a fraction of a percent, at
any epsilon, where guesses would need millions of steps. It proves nothing about noise of another shape; guesses do.

What counts is the noise beside the distance that the canary moves a sum: a clip that is too wide shows like noise that
is too small.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

TOLERANCE = 1e-3
"""Shortfall of the noise that is not reported: sums in single precision err, by far less."""


@dataclass
class NoiseSize:
    """The squares of the noise so far, against noise of a booked size."""

    per_distance: float
    """Booked deviation of the noise, in units of the distance that one unit moves a sum."""
    distance: float = 0.0
    """Largest distance that the canary moved a sum."""
    squares: float = 0.0
    entries: int = 0

    def add(self, noise: NDArray[np.float32] | NDArray[np.float64]) -> None:
        """Add the noise of one release."""
        self.squares += float(np.vdot(noise, noise))
        self.entries += noise.size

    def moved(self, distance: float) -> None:
        """Take note of a distance that the canary moves a sum."""
        self.distance = max(self.distance, distance)

    @property
    def share(self) -> float:
        """The measured deviation over the booked one; 1 if all is well."""
        return math.sqrt(self.squares / max(1, self.entries)) / self._booked

    @property
    def p_value(self) -> float:
        """The probability of noise so small, at most, if its deviation is within `TOLERANCE` of the booked one."""
        least = self._booked * (1 - TOLERANCE)
        return float(stats.chi2.cdf(self.squares / least**2, self.entries))

    def smallest_found(self, alpha: float) -> float:
        """The shortfall of the noise that is found in nine audits of ten."""
        spread = (float(stats.norm.isf(alpha)) + float(stats.norm.isf(0.1))) / math.sqrt(2 * max(1, self.entries))
        return min(1.0, TOLERANCE + spread)

    @property
    def _booked(self) -> float:
        return self.per_distance * self.distance
