"""The least noise that stays within epsilon and delta. Epsilon falls as the noise grows, nearly as a power of it."""

import math
from collections.abc import Callable, Sequence

from scipy import optimize

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import quick_epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.privacy.events import Event

EventsAt = Callable[[float], Sequence[Event]]
"""The events that follow from a noise multiplier."""

TOLERANCE = 4e-4
"""Share of epsilon that may be left unused."""
FINE, ROUGH = 2e-4, 2e-2
"""Shares by which a noise multiplier may be off: the least, and one to begin with."""
LEAST, MOST = 1e-3, 1e5
"""Noise multipliers between which the least is looked for."""
MOST_COUNTS = 12
"""Counts after which the least noise found so far is taken. Three or four find it."""


def smallest_noise(events_at: EventsAt, *, epsilon: float, delta: float, enough: float | None = None) -> float:
    """The least noise multiplier z, to a thousandth, with which `events_at(z)` stay within (epsilon, delta).

    Rounded up, never down. The search begins a little above it: at `enough`, which is found to be so for events alike,
    or where Renyi accounting says, because tighter counts take more time.
    """

    def cost(noise: float) -> float:
        return quick_epsilon_of(events_at(noise), delta)

    if enough is None:
        try:
            enough = smallest_noise_by_renyi(events_at, epsilon=epsilon, delta=delta, within=ROUGH)
        except ConfigError:  # what Renyi accounting makes of the other events may be above epsilon already
            return _by_bracket(cost, epsilon, delta, FINE)
        if not cost(enough) < renyi_epsilon_of(events_at(enough), delta):
            return smallest_noise_by_renyi(events_at, epsilon=epsilon, delta=delta)
    if cost(enough) > epsilon:  # it was found for other events, which need not cost more
        return _by_bracket(cost, epsilon, delta, FINE)
    return _by_secants(cost, enough, epsilon)


def smallest_noise_by_renyi(events_at: EventsAt, *, epsilon: float, delta: float, within: float = FINE) -> float:
    """The least noise multiplier as Renyi accounting counts, which may be more than it takes."""
    return _by_bracket(lambda noise: renyi_epsilon_of(events_at(noise), delta), epsilon, delta, within)


def _by_bracket(cost: Callable[[float], float], epsilon: float, delta: float, within: float) -> float:
    """The least noise of which nothing is known, between two powers of 4."""

    def excess(log_noise: float) -> float:
        return _excess(cost(math.exp(log_noise)), epsilon)

    low = high = math.log(1.0)
    while excess(high) > 0:
        low, high = high, high + math.log(4.0)
        if high > math.log(MOST):
            raise ConfigError(
                f"no noise reaches epsilon {epsilon:g} at delta {delta_text(delta)} for these steps; "
                "raise epsilon, or release less: fewer steps, rounds or queries, smaller batches, a cheaper warm start"
            )
    while low == high or excess(low) <= 0:
        low -= math.log(4.0)
        if low < math.log(LEAST):
            return math.exp(low)
    noise = math.exp(optimize.brentq(excess, low, high, xtol=within))
    while cost(noise) > epsilon:
        noise *= 1 + 2.5 * within
    return noise


def _by_secants(cost: Callable[[float], float], enough: float, epsilon: float) -> float:
    """The least noise a little below one that is enough, with few counts: along lines between logarithms."""
    high, above = math.log(enough), _excess(cost(enough), epsilon)
    low, below = high + above, math.nan  # epsilon falls at least as fast as the noise grows: this is too little
    for _ in range(MOST_COUNTS):
        if above >= -TOLERANCE or high <= math.log(LEAST):
            break
        if math.isnan(below):
            guess = max(low, math.log(LEAST))
        else:
            guess = high + (low - high) * (above + TOLERANCE / 2) / (above - below)
        if (found := _excess(cost(math.exp(guess)), epsilon)) <= 0:
            slope = (found - above) / (guess - high)
            high, above = guess, found
            if math.isnan(below):
                low = high + (TOLERANCE / 2 + above) / -slope
        else:
            low, below = guess, found
    return math.exp(high)


def _excess(cost: float, epsilon: float) -> float:
    """The logarithm of how many times too large the cost is."""
    return math.log(max(cost, 1e-12) / epsilon)
