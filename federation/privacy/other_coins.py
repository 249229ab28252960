"""Laws of the heads of coins that are not one's own, of which any number k has the larger chance.

Each of the coins has chance 1/2 + theta or 1/2 - theta. What protects among k of one and the rest of the other is
covered by a few laws of fewer coins, in the sense of `poisson_binomial_l2.py`: for every k, the coins' law is a mixture
of one of these with more independent numbers added and, with weight eta, of anything else.

- *A cell of k's at once.* Where low <= k <= high, only high - low coins are in doubt. Each of them is fair with
  probability 1 - 2 theta and else constant; which they are may as well be shown. All but a few are fair, but for a
  chance that is part of eta. The cells of a half of all k are mirrored for the other.
- *Windows.* Heads beyond Hoeffding's reach (Hoeffding 1963, Theorem 2) are part of eta, and so are heads of a chance
  below `LEAST_CHANCE`. What is left is an interval of a log-concave law, and so log-concave.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

LEAST_CHANCE = 1e-150
"""Heads of a smaller chance count as tails. All of them together are far less likely than the smallest eta, e^-300."""
_LEFT_OUT = 0.015
"""Share of the coins that a cell may leave out."""


def laws_of_others(coins: int, theta: float, log_eta: float) -> list[Array]:
    """Laws of heads for `coins` coins, any number of which is at the upper end, leaving out e^`log_eta` at most."""
    eta = math.exp(log_eta) / 6  # for coins that are fair, three windows, their sum's, and chances that are left out
    width = _width(coins, theta, eta)
    lower = [(low, min(low + width, coins)) for low in range(0, coins // 2 + 1, width + 1)]
    mirrored = [(coins - high, coins - low) for low, high in lower]
    cells = sorted({*lower, *mirrored})
    return [_law(low, coins - high, _fair(high - low, theta, eta), theta, eta) for low, high in cells]


def _width(coins: int, theta: float, eta: float) -> int:
    """The widest cell that leaves out no more of the coins than it may."""
    width, most = 0, _LEFT_OUT * (coins + 1)
    for step in (1 << power for power in range(coins.bit_length(), -1, -1)):
        if (wider := width + step) <= coins and wider - _fair(wider, theta, eta) <= most:
            width = wider
    return width


def _fair(doubtful: int, theta: float, eta: float) -> int:
    """Number of doubtful coins that are fair, but for a chance below eta."""
    return max(0, int(stats.binom.ppf(eta, doubtful, 1 - 2 * theta))) if doubtful else 0


def _law(upper: int, lower: int, fair: int, theta: float, eta: float) -> Array:
    """The law of the heads of these coins within a window; it adds up to 1."""
    law, first = np.ones(1), 0
    for count, chance in ((upper, 0.5 + theta), (lower, 0.5 - theta), (fair, 0.5)):
        low, high = _reach(count, count * chance, eta)
        law, first = np.convolve(law, stats.binom.pmf(np.arange(low, high + 1), count, chance)), first + low
    mean = upper * (0.5 + theta) + lower * (0.5 - theta) + fair / 2
    low, high = _reach(upper + lower + fair, mean, eta)
    law = law[max(0, low - first) : high + 1 - first]
    law = law[law > LEAST_CHANCE]
    return np.asarray(law / law.sum())


def _reach(coins: int, mean: float, eta: float) -> tuple[int, int]:
    """The fewest and the most heads, but for a chance below eta: Hoeffding's inequality."""
    reach = math.sqrt(coins * math.log(2 / eta) / 2)
    return max(0, math.floor(mean - reach)), min(coins, math.ceil(mean + reach))
