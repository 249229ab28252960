"""The integer noise that a release books: its probabilities added up, and the moments that a test of its size needs."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease

IntegerRelease = SkellamRelease | DiscreteGaussianRelease

REACH = 12.0
"""Number of standard deviations that are added up; beyond them lies less than 1e-30."""


@dataclass(frozen=True)
class Moments:
    """Variance and kurtosis of the noise of all honest silos in one entry, in steps of the grid.

    A discrete Gaussian of parameter 0.5 has variance 0.49898, and Skellam noise of variance V has kurtosis 3 + 1 / V.
    """

    variance: float
    kurtosis: float
    """The fourth moment over the squared variance: 3 for normal noise."""

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)


@lru_cache(maxsize=16)
def moments(event: IntegerRelease) -> Moments:
    """The moments. Variances add up, and so do fourth cumulants, (kurtosis - 3) variance^2."""
    match event:
        case SkellamRelease(variance=variance):
            return Moments(variance, 3 + 1 / variance)
        case DiscreteGaussianRelease(honest=honest, local_variance=parameter):
            values = values_within(parameter)
            weights = np.exp(-(values**2) / (2 * parameter))
            second, fourth = (float(values**power @ weights / weights.sum()) for power in (2, 4))
            return Moments(honest * second, 3 + (fourth / second**2 - 3) / honest)


def parameter(event: IntegerRelease) -> float:
    """The variance that the event names, which the true one does not exceed."""
    return part_variance(event) * (event.honest if isinstance(event, DiscreteGaussianRelease) else 1)


def part_variance(event: IntegerRelease) -> float:
    """The variance of one part of the noise; Skellam noise is one part."""
    match event:
        case SkellamRelease(variance=variance) | DiscreteGaussianRelease(local_variance=variance):
            return variance


def values_within(variance: float) -> NDArray[np.float64]:
    """All integers that noise of this variance takes with any weight."""
    reach = math.ceil(REACH * math.sqrt(variance)) + 20
    return np.arange(-reach, reach + 1, dtype=np.float64)


def probabilities(event: IntegerRelease, weights: tuple[int, ...], size: int) -> NDArray[np.float64]:
    """The probabilities of the sum of entries' noise times these weights, on `size` (odd) integers around 0.

    The transform of a sum is the product of the parts' transforms. The range is wide enough for nothing to wrap.
    """
    frequencies = np.arange(size // 2 + 1, dtype=np.int64)
    transform = np.ones(frequencies.size)
    for weight, times in zip(*np.unique(np.abs(weights), return_counts=True), strict=True):
        transform *= _transform(event, 2 * np.pi * (weight * frequencies % size) / size) ** times
    return np.fft.fftshift(np.fft.irfft(transform, n=size))


def _transform(event: IntegerRelease, angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """The characteristic function of the noise in one entry."""
    match event:
        case SkellamRelease(variance=variance):
            return np.asarray(np.exp(variance * (np.cos(angles) - 1)))
        case DiscreteGaussianRelease(honest=honest, local_variance=variance):
            # Poisson's summation: a sum of normal bells around all multiples of 2 pi, over its value at 0.
            around = 2 * np.pi * np.arange(-3, 4)
            bells = sum(np.exp(-variance * (angles - centre) ** 2 / 2) for centre in around)
            return np.asarray(bells / np.exp(-variance * around**2 / 2).sum()) ** honest
