"""Privacy audits: lower bounds on epsilon, from guesses whether a canary was there (Nasr et al. 2021).

The ledger's epsilon is an upper bound that somebody proved. Here the code itself is put to the test: the same release
happens many times, with and without one unit, and an attacker who sees all that is released guesses which it was. If
it guesses better than the ledger's epsilon allows, then something between data and ledger is broken.

Guesses are made at two thresholds, each counted at half the risk: one that was set before the first trial, on all of
them; and one that is chosen on one half of the trials, on the other half.

No audit proves privacy: a lower bound far below the ledger's may be a poor attacker's. One above it proves a fault.
Which faults an audit can see depends on epsilon, sampling rate and trials: `tests/experiments/attacks/test_audit.py`
says for each of its audits what it finds, and how often it would miss it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siloseal.experiments.attacks.canary import Booked, Flaw, Training, book_on_disk, run_trial
from siloseal.experiments.attacks.confidence import Guesses, Scores, best_threshold, guess
from siloseal.experiments.attacks.noisy_sums import NoisySums, SplitNoise
from siloseal.federation.errors import ConfigError, RunError
from siloseal.silo.ledger import Ledger

FEWEST_TRIALS = 40


@dataclass(frozen=True)
class Audit:
    """What an audit found. It raises an alarm where the lower bound exceeds the upper one."""

    trials: int
    chosen: Guesses
    """Guesses on the half of the trials that did not choose the threshold."""
    central: Guesses
    """Guesses on all trials at the score of 0, where both cases are as likely: it was set before the first trial."""
    delta: float
    confidence: float
    ledger_epsilon: float
    """The upper bound: what a ledger books for one trial."""
    gaussian: bool
    """Whether the release is meant to be Gaussian: every example in every step, under normal noise."""

    @property
    def epsilon(self) -> float:
        """The lower bound, which holds with `confidence` for any mechanism: the better of both thresholds'."""
        each = (1 + self.confidence) / 2
        return max(guesses.epsilon(self.delta, each) for guesses in (self.chosen, self.central))

    @property
    def gaussian_epsilon(self) -> float | None:
        """The lower bound IF the noise is normal, of one deviation; None where it is not even meant to be.

        Far tighter, but nothing here checks the assumption: whoever does not trust the code cannot rely on it.
        """
        return self.central.gaussian_epsilon(self.delta, self.confidence) if self.gaussian else None

    @property
    def alarm(self) -> bool:
        """Whether the ledger claims more than the code keeps: falsely with at most probability 1 - `confidence`."""
        return self.epsilon > self.ledger_epsilon


def audit_training(
    epsilon: float,
    *,
    delta: float = 1e-5,
    sampling_rate: float = 1.0,
    steps: int = 4,
    trials: int = 1000,
    flaw: Flaw = "none",
    confidence: float = 0.95,
) -> Audit:
    """Audit the private trainer at the noise that this epsilon takes; half of the trials have the canary.

    Perfect guesses over n trials prove an epsilon of about ln(n / 9) at a confidence of 0.95, and no more.
    """
    _require_trials(trials)
    training = Training(epsilon, delta, sampling_rate, steps, flaw)
    ledger = book_on_disk(training)
    with_it, without = (_scores(training, ledger, canary, trials // 2) for canary in (True, False))
    found = _guesses(with_it, without, delta, confidence)
    return Audit(trials, *found, delta, confidence, ledger.epsilon, gaussian=sampling_rate == 1)


def audit_sum(
    noise: SplitNoise, epsilon: float, *, delta: float = 1e-5, trials: int = 4000, confidence: float = 0.95
) -> Audit:
    """Audit noise that is split over the silos of a sum; the unit is a silo's whole vector."""
    _require_trials(trials)
    sums = NoisySums(noise, epsilon, delta)
    with_it, without = (
        np.array([sums.run_trial(canary=canary) for _ in range(trials // 2)]) for canary in (True, False)
    )
    found = _guesses(with_it, without, delta, confidence)
    return Audit(trials, *found, delta, confidence, sums.booked_epsilon, gaussian=False)


def _require_trials(trials: int) -> None:
    if trials < FEWEST_TRIALS or trials % 2:
        raise ConfigError(
            f"{trials} trials, expected an even number from {FEWEST_TRIALS} on: half of them have the canary, and "
            "fewer prove nothing; run more"
        )


def _guesses(with_it: Scores, without: Scores, delta: float, confidence: float) -> tuple[Guesses, Guesses]:
    """Return the guesses at the threshold that proves most, and at 0."""
    chosen = cross_guess(with_it, without, lambda made: made.epsilon(delta, (1 + confidence) / 2))
    return chosen, guess(with_it, without, 0.0)


def cross_guess(with_it: Scores, without: Scores, proves: Callable[[Guesses], float]) -> Guesses:
    """Return guesses on the second halves of the scores, at the threshold that proves most on the first."""
    half, other = len(with_it) // 2, len(without) // 2
    threshold = best_threshold(with_it[:half], without[:other], proves)
    return guess(with_it[half:], without[other:], threshold)


def _scores(training: Training, ledger: Ledger, canary: bool, trials: int) -> Scores:
    """Return the scores of trials, each of which books what the ledger on disk has booked."""
    scores, expected = list[float](), [charge.event for charge in ledger.charges]
    for _ in range(trials):
        booked = Booked()
        scores.append(run_trial(training, booked, canary=canary))
        if booked.events != expected:
            raise RunError(f"a trial booked {booked.events}, another {expected}; the same training costs the same")
    return np.array(scores)
