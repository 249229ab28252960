"""From what a user wants to coins: how many, how far their chances go, and where entries are cut."""

import math
from collections.abc import Callable
from functools import lru_cache, partial

from scipy import optimize, special

from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import MOST_TRIALS, Event, PoissonBinomialRelease
from siloseal.federation.privacy.mechanisms.calibration import (
    MARGIN,
    Demand,
    renyi_gaussian_multiplier,
    round_down,
    round_up,
)
from siloseal.federation.privacy.mechanisms.pbm import PoissonBinomial
from siloseal.federation.privacy.mechanisms.pbm_kashin import KashinPoissonBinomial, coefficients
from siloseal.federation.sums.session import RealDomain

MOST_COINS = 2**14
"""Most coins of all silos together in `pbm`: its bound would take long to compute for more."""
LARGEST_THETA = 0.25
SMALLEST_THETA = 1e-6
ENOUGH_THETA = 0.1
"""Theta from which one more bit would lower the error by less than a hundredth.

Coins of chance 1/2 vary by 1/4; others count on 1/4 - theta^2 alone, so the squared error is 1 / (1 - 4 theta^2) times
the Gaussian's. Twice as many coins halve theta^2.
"""
_CUT = 0.01
"""Part of the squared error that the cut may add where all silos send one vector; far less where they do not."""
_LOWEST, _HIGHEST = 2.0, 6.0
"""Root mean squares of an entry at which it may be cut."""
_UNUSED = 2e-4
"""Part of epsilon that a calibration may leave unused."""
_CLOSE = 1e-7
"""Difference of logarithms below which two thetas are the same: where epsilon jumps, none may use all of it."""
_MOST_COUNTS = 100
"""Counts after which the largest theta found so far is taken. Three find it, mostly."""


def calibrated_pbm(demand: Demand, *, bits: int | None, clip_norm: float) -> PoissonBinomial:
    """The coins that the bits hold, or as many as are worth it, and the largest theta that stays within epsilon."""
    share = _share(demand)
    # The Gaussian of the same epsilon: m coins move by m theta / share, and those of h silos vary by h m / 4.
    spread = math.sqrt(demand.honest) * share / (2 * _gaussian(demand))  # theta sqrt(m)
    bits = _bits_worth_it(demand, spread) if bits is None else bits
    trials = min(_most_trials("pbm", demand, bits), MOST_TRIALS, max(1, MOST_COINS // demand.silos))
    theta = _theta_by_norm(demand, share, trials, spread / math.sqrt(trials))
    return PoissonBinomial(clip_norm, share * clip_norm, trials, theta)


@lru_cache(maxsize=64)
def _theta_by_norm(demand: Demand, share: float, trials: int, guess: float) -> float:
    """The largest theta of so many coins, with entries bounded by this share of the clip norm."""

    def event(theta: float) -> Event:
        mechanism = PoissonBinomial(1.0, share, trials, theta)
        return mechanism.event(RealDomain(demand.length, 1.0), demand.honest)

    return _largest_theta("pbm", demand, event, guess)


def _gaussian(demand: Demand) -> float:
    """The noise multiplier of the Gaussian that coins come near to."""
    try:
        return renyi_gaussian_multiplier(demand)
    except ConfigError:
        raise _unreachable("pbm", demand) from None


def _share(demand: Demand) -> float:
    """The bound of an entry as a part of the clip norm.

    Entries of a rotated vector are nearly normal of deviation 1 / sqrt(length), and are cut at `level` of these. The
    squared error of the cut adds up over silos that all send one vector, to silos^2 / length times `_beyond(level)`.
    """
    most = _CUT * _gaussian(demand) ** 2 * demand.length / demand.silos**2
    if _beyond(_LOWEST) <= most:
        level = _LOWEST
    elif _beyond(_HIGHEST) >= most:
        level = _HIGHEST
    else:
        level = float(optimize.brentq(lambda at: math.log(_beyond(at) / most), _LOWEST, _HIGHEST, xtol=1e-9))
    return min(1.0, round_up(level / math.sqrt(demand.length)))


def _beyond(level: float) -> float:
    """E (|g| - level)^2 where |g| > level, for a standard normal g."""
    density = math.exp(-(level**2) / 2) / math.sqrt(2 * math.pi)
    return 2 * ((1 + level**2) * float(special.ndtr(-level)) - level * density)


def _bits_worth_it(demand: Demand, spread: float) -> int:
    """The fewest bits whose coins take no more than `ENOUGH_THETA`."""
    trials = min(MOST_TRIALS, max(1, math.ceil((spread / ENOUGH_THETA) ** 2)))
    return (demand.silos * trials).bit_length()


def _largest_theta(kind: str, demand: Demand, event: Callable[[float], Event], guess: float) -> float:
    """The largest theta within epsilon, nearly, or an error that says that there is none."""
    most = MARGIN * demand.epsilon

    def excess(log_theta: float) -> float:
        found = epsilon_of([event(_theta(log_theta))] * demand.releases, demand.delta)
        return math.log(max(found / most, 0.1))  # 0 where a large delta covers all

    found = _largest_within(excess, math.log(guess), math.log(SMALLEST_THETA), math.log(LARGEST_THETA))
    if found is None:
        raise _unreachable(kind, demand)
    return _theta(found)


def _theta(log_theta: float) -> float:
    return round_down(math.exp(log_theta))


def _largest_within(excess: Callable[[float], float], guess: float, least: float, most: float) -> float | None:
    """The largest argument whose excess is not above 0, nearly; None if there is none.

    The excess grows, here at least as fast as its argument. So few steps along lines find it; every fourth step halves
    the bracket, so that the search ends however the excess grows. Only what was found to be within is returned.
    """
    low, below, high, above = -math.inf, math.nan, math.inf, math.nan
    at = min(most, max(least, guess))
    for count in range(_MOST_COUNTS):
        if (found := excess(at)) > 0:
            high, above = at, found
        else:
            low, below = at, found
        if low >= most or high <= least or -_UNUSED <= found <= 0 or high - low < _CLOSE:
            break
        if high - low == math.inf:
            at = min(most, max(least, at - (1 + count) * (found + _UNUSED / 2)))
        elif count % 4 == 3:
            at = (low + high) / 2
        else:
            at = low + (high - low) * (below + _UNUSED / 2) / (below - above)
    return low if low > -math.inf else None


def calibrated_pbm_kashin(demand: Demand, *, bits: int, clip_norm: float) -> KashinPoissonBinomial:
    """The fewest coins that use all of epsilon, and the largest theta with which they stay within it.

    The error depends on trials * theta^2 alone, nearly; so the smaller epsilon is, the fewer coins and bits it takes.
    """
    return KashinPoissonBinomial(clip_norm, *_of_kashin(demand, bits))


@lru_cache(maxsize=64)
def _of_kashin(demand: Demand, bits: int) -> tuple[int, float]:
    """The number of coins, and theta."""
    most, entries = _most_trials("pbm_kashin", demand, bits), coefficients(demand.length)

    def event(trials: int, theta: float) -> Event:
        return PoissonBinomialRelease(demand.honest, trials, theta, entries)

    def is_enough(trials: int) -> bool:
        events = [event(trials, LARGEST_THETA)] * demand.releases
        return epsilon_of(events, demand.delta) > MARGIN * demand.epsilon

    trials = _first(is_enough, most)  # all of them, where the bits are too few to use all of epsilon
    return trials, _largest_theta("pbm_kashin", demand, partial(event, trials), LARGEST_THETA)


def _most_trials(kind: str, demand: Demand, bits: int) -> int:
    """The most coins of a silo whose sum over all silos these bits hold."""
    most = ((1 << bits) - 1) // demand.silos
    if most < 1:
        raise ConfigError(
            f"{kind} counts the coins of {demand.silos} silos, which {bits} bits cannot hold; it takes "
            f"{demand.silos.bit_length()} bits"
        )
    return most


def _unreachable(kind: str, demand: Demand) -> ConfigError:
    return ConfigError(
        f"{kind} cannot reach epsilon {demand.epsilon:g} over {demand.releases} releases of {demand.length} entries; "
        "raise epsilon, or plan fewer rounds"
    )


def _first(holds: Callable[[int], bool], most: int) -> int:
    """The first count from 1 to `most` that passes; `most` where there is none."""
    low, high = 0, 1
    while high < most and not holds(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
