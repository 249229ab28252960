"""How often one rule is right about integer noise: the one that projects the total on the unit's direction.

The rule says that the unit is there if the total has come more than half of the way. It is one threshold on one number,
and bounds for it hold for no other rule: an attacker who looks at something else has the bound of any rule
(`success.py`).

Where counts move by whole numbers m_1 .. m_k, the noise of that number is sum m_i N_i, which is symmetric and whose
distribution is added up. Half of the booked way is l2 |m| / 2, so the rule is right with probability
P(sum <= l2 |m| / 2) at most; a tie is a wrong guess of "it is there".

Where the range is too wide for that, or the vector was rotated, the noise on the unit direction w is nearly normal. If
its distribution function differs from the normal's by e at most, then any threshold on it is right with Phi(l2 /
(2 s)) + e at most, s being the deviation of an entry. For any w, e is below `WIDE_ERROR` / s
+ `WIDE_TAIL`:

- Skellam noise is compound Poisson, with jumps of w_i and -w_i at rate V / 2 each. Berry and Esseen's theorem for such
  sums (Korolev and Shevtsova 2012) has e <= 0.31 sum |w_i|^3 / s <= 0.31 / s.
- A discrete Gaussian of variance 16 or more, plus a normal of deviation t = 1.5, has a normal's density but for a
  factor of 1 + 1e-16 (Poisson's summation), and so has a sum of several. So X = w . N has X + t Z normal. Because Z is
  below 4.3 but once in 1e5, P(X <= h) is at most P(X + t Z <= h + 4.3 t) + 1e-5, and that probability is less than
  3 / s above the normal's.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from siloseal.privacy_audit.booked_noise import (
    IntegerRelease,
    moments,
    parameter,
    part_variance,
    probabilities,
    values_within,
)
from siloseal.privacy_audit.success import largest_success

MOST_VALUES = 2**21
"""Most values of summed noise that are added up."""
WIDE_ERROR = 3.0
"""Largest difference of the distribution functions of integer and normal noise, times the noise's deviation ..."""
WIDE_TAIL = 1e-5
"""... and what is added to it, however wide the noise is."""
LEAST_PART = 16.0
"""Least variance of one part of the noise for which that is proven."""


def counts_success(event: IntegerRelease, move: NDArray[np.float64]) -> float:
    """The rule's largest probability of being right where the unit moves whole numbers by this, or less far."""
    whole = np.rint(np.abs(move[move != 0])).astype(np.int64)
    weights = whole // np.gcd.reduce(whole)
    length = math.sqrt(float(weights @ weights))
    values = values_within(length**2 * parameter(event))
    if values.size > MOST_VALUES:
        return wide_success(event)
    # The way is mostly a whole number of steps, but for the roots' rounding.
    half_way = round(event.l2 * length, 6) / 2
    chances = probabilities(event, tuple(weights.tolist()), values.size)
    # Without the unit the noise may go half of the way; with it, it must not go as far back.
    return float((chances[values <= half_way].sum() + chances[values > -half_way].sum()) / 2)


def wide_success(event: IntegerRelease) -> float:
    """The largest probability of being right, in whatever direction the unit moves: by the normal's, or any rule's."""
    any_rule = largest_success(event)
    if part_variance(event) < LEAST_PART:
        return any_rule
    deviation = moments(event).deviation
    return min(any_rule, float(stats.norm.cdf(event.l2 / (2 * deviation))) + WIDE_ERROR / deviation + WIDE_TAIL)
