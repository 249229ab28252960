"""From what a user wants to coins: how many, how far their chances go, and where entries are cut."""

import math
from collections.abc import Callable
from functools import lru_cache

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
_UNUSED = 1e-3
"""Part of epsilon that a calibration may leave unused."""


def calibrated_pbm(demand: Demand, *, bits: int | None, clip_norm: float) -> PoissonBinomial:
    """The coins that the bits hold, or as many as are worth it, and the largest theta that stays within epsilon."""
    share = _share(demand)
    # The Gaussian of the same epsilon: m coins move by m theta / share, and those of h silos vary by h m / 4.
    spread = math.sqrt(demand.honest) * share / (2 * renyi_gaussian_multiplier(demand))  # theta sqrt(m)
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


def _share(demand: Demand) -> float:
    """The bound of an entry as a part of the clip norm.

    Entries of a rotated vector are nearly normal of deviation 1 / sqrt(length), and are cut at `level` of these. The
    squared error of the cut adds up over silos that all send one vector, to silos^2 / length times `_beyond(level)`.
    """
    most = _CUT * renyi_gaussian_multiplier(demand) ** 2 * demand.length / demand.silos**2
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
    """The largest theta within epsilon, nearly: epsilon grows about as theta does, so that few steps find it."""
    most, theta = MARGIN * demand.epsilon, min(LARGEST_THETA, guess)
    while theta > SMALLEST_THETA:
        theta = round_down(theta)
        found = epsilon_of([event(theta)] * demand.releases, demand.delta)
        if found <= most and (found >= (1 - _UNUSED) * most or theta >= LARGEST_THETA):
            return theta
        theta = min(LARGEST_THETA, theta * max(0.1, (1 - _UNUSED / 2) * most / found))
    raise _unreachable(kind, demand)


def calibrated_pbm_kashin(demand: Demand, *, bits: int, clip_norm: float) -> KashinPoissonBinomial:
    """The fewest coins that use all of epsilon, and the largest theta with which they stay within it.

    The error depends on trials * theta^2 alone, nearly; so the smaller epsilon is, the fewer coins and bits it takes.
    """
    return KashinPoissonBinomial(clip_norm, *_of_kashin(demand, bits))


@lru_cache(maxsize=64)
def _of_kashin(demand: Demand, bits: int) -> tuple[int, float]:
    """The number of coins, and theta."""
    most, entries = _most_trials("pbm_kashin", demand, bits), coefficients(demand.length)
    most_epsilon = MARGIN * demand.epsilon

    def epsilon(trials: int, theta: float) -> float:
        event = PoissonBinomialRelease(demand.honest, trials, theta, entries)
        return epsilon_of([event] * demand.releases, demand.delta)

    trials = _first(lambda count: epsilon(count, LARGEST_THETA) > most_epsilon, most)
    if epsilon(trials, LARGEST_THETA) <= most_epsilon:  # the bits are too few to use all of epsilon: better than asked
        return trials, LARGEST_THETA

    def excess(log_theta: float) -> float:
        return math.log(max(epsilon(trials, math.exp(log_theta)), 1e-12) / most_epsilon)

    smallest = math.log(SMALLEST_THETA)
    if excess(smallest) > 0:
        raise _unreachable("pbm_kashin", demand)
    theta = round_down(math.exp(optimize.brentq(excess, smallest, math.log(LARGEST_THETA), xtol=1e-7)))
    while epsilon(trials, theta) > most_epsilon:
        theta = round_down(theta * (1 - 1e-6))
    return trials, theta


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
