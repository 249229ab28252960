"""What releases cost together, by the tightest count that there is of them.

What happened is a frozen event (`events.py`). All but one kind have a Renyi curve (`event_curves.py`); curves of
different events add at equal orders, so one composition spans both phases. Gaussian noise has tighter counts: an exact
one without sampling, and privacy loss distributions (`loss_distributions.py`). Plan, ledger, policy and report ask
`counted`, and so have the same numbers.

The neighbouring relation is zero-out of one unit: its contribution is there, or is nothing. Where the number of units
is no input of a release, which is so for counts, the same numbers hold for adding and removing a unit.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Self

import numpy as np
from dp_accounting import get_epsilon_gaussian

from siloseal.federation.privacy.curves import Curve, binomial_epsilon
from siloseal.federation.privacy.event_curves import curve_of, epsilon_of_curve
from siloseal.federation.privacy.events import (
    BinomialRelease,
    Event,
    ExchangedGaussianSteps,
    GaussianRelease,
    SampledGaussianSteps,
    exchanged,
)
from siloseal.federation.privacy.loss_distributions import Composable, epsilon_by_losses

WIDEST_EPSILON = 1000.0
"""Largest epsilon that is sharpened: above it, it means nothing, and the grid of losses would be coarse."""


class Accounting(StrEnum):
    """The ways to count, as plans, guarantees and reports name them."""

    RENYI = "Renyi accounting"
    LOSSES = "privacy loss distributions"
    GAUSSIAN = "analytic Gaussian"
    PAIRS = "composition of (epsilon, delta) pairs"


@dataclass(frozen=True)
class Counted:
    """What events cost together at some delta, and how that was counted."""

    epsilon: float
    accountant: Accounting


class Accountant:
    """Everything added so far. Equal events are kept once, with their number, so that many silos' plans are cheap."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: Counter[Event] = Counter()
        for event, times in Counter(events).items():
            self.add(event, times)

    def add(self, event: Event, times: int = 1) -> None:
        """Compose with one more event, or with `times` equal ones."""
        match event:
            case SampledGaussianSteps(steps=steps) | ExchangedGaussianSteps(steps=steps):
                self._events[_single(event)] += times * steps
            case _:
                self._events[event] += times

    def plus(self, event: Event) -> Self:
        """Another accountant, with one more event."""
        more = type(self)()
        more._events = self._events.copy()
        more.add(event)
        return more

    def counted(self, delta: float) -> Counted:
        """The tightest count of everything added so far, at this delta."""
        return _counted(self._summary(), delta)

    def epsilon(self, delta: float) -> float:
        """Epsilon by the tightest count."""
        return self.counted(delta).epsilon

    def renyi_epsilon(self, delta: float) -> float:
        """Epsilon by Renyi curves, and by pairs of events that have none: never below the tightest, and cheap."""
        return _by_curves(self._summary(), delta).epsilon

    def _summary(self) -> "Summary":
        """The events, all Gaussians as the one that they are together, in an order that their order does not change."""
        merged, precisions = list[tuple[Event, int]](), list[float]()
        for event, times in self._events.items():
            if isinstance(event, GaussianRelease):
                precisions.append(times / event.noise_multiplier**2)
            else:
                merged.append((event, times))
        if precisions:
            merged.append((GaussianRelease(1 / math.sqrt(math.fsum(precisions))), 1))
        return tuple(sorted(merged, key=repr))


Summary = tuple[tuple[Event, int], ...]
"""Different events, each with its number. Steps are single ones."""


def _single(event: SampledGaussianSteps | ExchangedGaussianSteps) -> Event:
    """One of the steps; where all units join, it is a release."""
    if event.sampling_rate < 1:
        return replace(event, steps=1)
    release = GaussianRelease(event.noise_multiplier)
    return release if isinstance(event, SampledGaussianSteps) else exchanged(release)


def counted(events: Iterable[Event], delta: float) -> Counted:
    """The tightest count of all events together, at this delta."""
    return Accountant(events).counted(delta)


def epsilon_of(events: Iterable[Event], delta: float) -> float:
    """Epsilon of all events together, at this delta, by the tightest count."""
    return counted(events, delta).epsilon


def renyi_epsilon_of(events: Iterable[Event], delta: float) -> float:
    """Epsilon of all events together by Renyi accounting, which is cheap: to search with, and to compare by."""
    return Accountant(events).renyi_epsilon(delta)


def quick_epsilon_of(events: Iterable[Event], delta: float) -> float:
    """Epsilon to search with: never below the tightest, and by one accountant alone, the one that is likely best."""
    summary = Accountant(events)._summary()
    exact = len(summary) == 1 and isinstance(summary[0][0], GaussianRelease)
    if not exact and _composable(summary) and (epsilon := _by_losses(summary, delta)) < WIDEST_EPSILON:
        return epsilon
    return _counted(summary, delta).epsilon


@lru_cache(maxsize=4096)
def _counted(events: Summary, delta: float) -> Counted:
    match events:
        case ((GaussianRelease(noise_multiplier=noise), 1),):
            exact = float(get_epsilon_gaussian(noise, delta, tol=1e-15))  # Balle and Wang 2018, Theorem 8
            # Two nearly equal numbers are subtracted: up to a multiplier of 1e5 that loses 1e-10 of epsilon at most.
            return Counted(exact * (1 + 1e-9), Accounting.GAUSSIAN)
        case _:
            renyi, composable = _by_curves(events, delta), _composable(events)
    if not composable or renyi.epsilon > WIDEST_EPSILON:
        return renyi
    epsilon = _by_losses(events, delta)
    return Counted(epsilon, Accounting.LOSSES) if epsilon < renyi.epsilon else renyi


@lru_cache(maxsize=4096)
def _by_losses(events: Summary, delta: float) -> float:
    return epsilon_by_losses(_composable(events), delta)


def _composable(events: Summary) -> Mapping[Composable, int]:
    """The events, if all have a privacy loss distribution; else none."""
    kinds = GaussianRelease | SampledGaussianSteps | ExchangedGaussianSteps
    found = {event: times for event, times in events if isinstance(event, kinds)}
    return found if len(found) == len(events) else {}


def _by_curves(events: Summary, delta: float) -> Counted:
    """What the events' curves make of them together, and composed pairs of those that have none."""
    curve, pairs = np.zeros(1), list[tuple[float, float]]()
    for event, times in events:
        if isinstance(event, BinomialRelease):
            pairs += [(binomial_epsilon(**asdict(event)), event.delta)] * times
        else:
            curve = curve + times * curve_of(event)
    if not pairs:
        return Counted(epsilon_of_curve(curve, delta), Accounting.RENYI)
    return Counted(_with_pairs(curve, pairs, delta), Accounting.PAIRS)


def _with_pairs(curve: Curve, pairs: list[tuple[float, float]], delta: float) -> float:
    left = delta - sum(own for _, own in pairs)
    if left <= 0:
        return math.inf
    epsilons = [epsilon for epsilon, _ in pairs]
    if not curve.any():
        return min(sum(epsilons), composed(epsilons, left))
    basic = sum(epsilons) + epsilon_of_curve(curve, left)
    return min(basic, composed(epsilons, left / 2) + epsilon_of_curve(curve, left / 2))


def composed(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon of mechanisms of these epsilons together, at a delta besides their own.

    Kairouz, Oh and Viswanath 2015, Theorem 3.5, for any mixture of epsilons.
    """
    drift = sum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    return drift + math.sqrt(2 * math.log(1 / delta) * sum(epsilon**2 for epsilon in epsilons))
