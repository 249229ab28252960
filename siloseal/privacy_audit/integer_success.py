"""How often one rule is right about counts under integer noise, added up from the booked distribution itself.

The rule: project the total on the direction in which the unit moves it, and say that the unit is there if the total
has come more than half of the way. A unit that moves k counts by the same amount c has l2 = c sqrt(k), and the
projection of the noise is a sum of k independent parts over sqrt(k). Half of the way is then c k / 2 for that sum.
The noise of the honest silos in one count is a sum of their parts. All of it is symmetric, so the rule is right with
probability P(sum < c k / 2), ties counted as wrong guesses of "it is there".
"""

import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.events import DiscreteGaussianRelease, SkellamRelease

REACH = 12.0
"""Number of standard deviations that are added up; beyond them lies less than 1e-30."""


def projection_success(event: SkellamRelease | DiscreteGaussianRelease, moved: int) -> float:
    """The rule's probability of being right where one unit moves `moved` counts alike, by `event.l2` together."""
    half_way = round(event.l2 * math.sqrt(moved), 6) / 2  # a whole number of steps, but for the roots' rounding
    values, chances = _summed_noise(event, moved)
    # Without the unit the noise may go half of the way; with it, it must not go as far back.
    right = chances[values <= half_way].sum() + chances[values > -half_way].sum()
    return float(right / (2 * chances.sum()))


def _summed_noise(
    event: SkellamRelease | DiscreteGaussianRelease, moved: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of the summed noise of all honest silos in `moved` counts, and their probabilities."""
    match event:
        case SkellamRelease(variance=variance):
            values = _values(moved * variance)
            # The characteristic function of Skellam noise is exp(V (cos t - 1)).
            transform = np.exp(moved * variance * (np.cos(2 * np.pi * np.fft.rfftfreq(values.size)) - 1))
        case DiscreteGaussianRelease(honest=honest, local_variance=variance):
            values = _values(honest * moved * variance)
            one = np.exp(-(values**2) / (2 * variance))
            # The transform of a sum is the product of the parts' transforms; the range is wide enough not to wrap.
            transform = np.fft.rfft(np.fft.ifftshift(one / one.sum())).real ** (honest * moved)
    return values, np.fft.fftshift(np.fft.irfft(transform, n=values.size))


def _values(variance: float) -> NDArray[np.float64]:
    reach = math.ceil(REACH * math.sqrt(variance)) + 20
    return np.arange(-reach, reach + 1, dtype=np.float64)
