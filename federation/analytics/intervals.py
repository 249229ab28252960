"""How far noise reaches: 95 % of the time, and almost never."""

import math

from siloseal.federation.analytics.query import Estimate

TWO_SIDED = 1.959963984540054
"""Number of standard deviations that hold 95 % of a Gaussian; 97.5 % lie below."""

RELIABLE = 5.0
"""Number of deviations that keep a noisy denominator within a fifth of the truth: quotients are then nearly linear."""


def count_estimate(name: str, count: float, deviation: float) -> Estimate:
    """A noisy count, with the whole numbers that 95 % of the noise leaves possible. Counts are never negative."""
    reach = math.ceil(TWO_SIDED * deviation)
    low, high = max(0.0, count - reach), max(0.0, count + reach)
    few = count <= reach
    return Estimate(name=name, value=None if few else count, low=low, high=high, note="too few to tell" if few else "")


def rare_reach(deviation: float, chance: float) -> float:
    """The reach that noise exceeds with at most this chance: Bernstein's bound, which holds for Skellam noise.

    Discrete Gaussian noise stays below it too: its tails are thinner than a Gaussian's.
    """
    log = math.log(1 / chance)
    return log / 3 + math.sqrt(log**2 / 9 + 2 * deviation**2 * log)
