"""The size of the noise, measured: a second test, which takes the shape of the noise for granted.

The auditor knows all but the noise, so what is left after subtracting is the noise itself. With millions of entries its
squares find noise which is too small by a fraction of a percent, at any epsilon, where guesses would need millions of
steps. They prove nothing about noise of another shape; guesses do.

The test uses two moments of the booked noise N, its variance V and its kurtosis k. V - N^2 is at most V and has
variance (k - 1) V^2. So by Bennett's inequality the squares of n independent entries are below n V (1 - x) with
probability exp(-n (k - 1) h(x / (k - 1))) at most, where h(u) = (1 + u) ln(1 + u) - u. That holds for any n and any V,
where the tail of a chi-square variable would be wrong: the kurtosis of integer noise is above 3.

Entries that were rounded at random beforehand have N + r in the place of N. Bennett's inequality bounds E exp(-a N^2),
and E exp(-a (N + r)^2) is no larger for any r: it is an integral of cos(r t) times a normal density times the
characteristic function of N, which is positive for normal, Skellam and discrete Gaussian noise.

What counts is the noise beside the distance that the canary moves a sum: a clip that is too wide shows like noise that
is too small.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

TOLERANCE = 1e-3
"""Shortfall of the noise that is not reported: single precision, grids and moduli take something away, far less."""

NORMAL_KURTOSIS = 3.0


@dataclass
class NoiseSize:
    """The squares of the noise so far, against noise of a booked size."""

    per_distance: float
    """Booked deviation of the noise, in units of the distance that one unit moves a sum."""
    distance: float = 0.0
    """Largest distance that the canary moved a sum."""
    kurtosis: float = NORMAL_KURTOSIS
    """Kurtosis of the booked noise in one entry."""
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
        missing = 1 - self.squares / max(1, self.entries) / least**2
        return math.exp(-self.entries * self._rate(missing)) if missing > 0 else 1.0

    def smallest_found(self, alpha: float) -> float:
        """The shortfall of the noise that is found in about nine audits of ten."""
        needed = -math.log(alpha) / max(1, self.entries)
        if self._rate(1.0) <= needed:
            return 1.0
        missing = float(optimize.brentq(lambda x: self._rate(x) - needed, 0.0, 1.0))
        chance = 1.28 * math.sqrt((self.kurtosis - 1) / self.entries)  # nine in ten squares are less than this above
        return 1 - (1 - TOLERANCE) * math.sqrt((1 - missing) / (1 + chance))

    def _rate(self, missing: float) -> float:
        """Bennett's exponent for one entry, where squares lack this share."""
        spread = self.kurtosis - 1
        u = missing / spread
        return spread * ((1 + u) * math.log1p(u) - u)

    @property
    def _booked(self) -> float:
        return self.per_distance * self.distance
