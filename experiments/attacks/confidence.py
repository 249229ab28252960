"""Bounds on epsilon from counted guesses, which hold with a stated confidence, whatever the truth is."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Guesses:
    """Counts of an attacker's "it was there", over trials in which it was, and in which it was not."""

    hits: int
    trials_with: int
    false_alarms: int
    trials_without: int

    @property
    def true_positive_rate(self) -> float:
        """Fraction of the trials with the canary in which the attacker said so."""
        return self.hits / self.trials_with

    @property
    def false_positive_rate(self) -> float:
        """Fraction of the trials without the canary in which the attacker said that it was there."""
        return self.false_alarms / self.trials_without

    def error_bounds(self, confidence: float) -> tuple[float, float]:
        """Bounds on the false positive and the false negative rate, which hold together with this confidence."""
        each = (1 + confidence) / 2
        misses = self.trials_with - self.hits
        return upper_rate(self.false_alarms, self.trials_without, each), upper_rate(misses, self.trials_with, each)

    def epsilon(self, delta: float, confidence: float) -> float:
        """The least epsilon of any mechanism that lets such guesses happen (Jagielski, Ullman and Oprea 2020)."""
        false_positive, false_negative = self.error_bounds(confidence)
        return max(
            0.0, _log_ratio(delta, false_negative, false_positive), _log_ratio(delta, false_positive, false_negative)
        )

    def gaussian_epsilon(self, delta: float, confidence: float) -> float:
        """The least epsilon of any GAUSSIAN mechanism that does (Nasr et al. 2023). Far tighter, and no more general.

        Two normal distributions a distance mu apart cannot be told apart better than mu allows; a mechanism whose
        worst case they are has the epsilon of that mu.
        """
        false_positive, false_negative = self.error_bounds(confidence)
        mu = float(stats.norm.isf(false_positive) - stats.norm.ppf(false_negative))
        return gaussian_epsilon(mu, delta) if mu > 0 else 0.0


def upper_rate(events: int, trials: int, confidence: float) -> float:
    """Rate above which so few events have probability 1 - confidence at most (Clopper and Pearson 1934)."""
    return 1.0 if events == trials else float(stats.beta.ppf(confidence, events + 1, trials - events))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of two unit normals a distance mu apart (Balle and Wang 2018), exactly; 0 where delta alone covers it."""

    def excess(epsilon: float) -> float:
        first, second = (stats.norm.logcdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
        return math.exp(first) - math.exp(epsilon + second) - delta

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, mu * mu / 2 + 10 * mu))


def guess(with_it: Scores, without: Scores, threshold: float) -> Guesses:
    """Count guesses: a trial that scores above the threshold is said to have had the canary."""
    return Guesses(int((with_it > threshold).sum()), len(with_it), int((without > threshold).sum()), len(without))


def best_threshold(with_it: Scores, without: Scores, proves: Callable[[Guesses], float]) -> float:
    """The threshold that proves most on these trials; where none proves anything, the one that guesses best."""

    def merit(threshold: float) -> tuple[float, float]:
        guesses = guess(with_it, without, threshold)
        return proves(guesses), guesses.true_positive_rate - guesses.false_positive_rate

    scores = np.unique(np.concatenate([with_it, without]))
    between: list[float] = ((scores[1:] + scores[:-1]) / 2).tolist()
    return max(between or scores.tolist(), key=merit)


def _log_ratio(delta: float, error: float, other: float) -> float:
    left = 1 - delta - error
    return math.log(left / other) if left > 0 and other > 0 else -math.inf
