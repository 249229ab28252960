"""The audit finds nothing where nothing is wrong, much of what there is, and every planted fault.

Lower bounds are taken at a confidence of 1 - 1e-4, so that each of them exceeds the ledger's epsilon falsely once in
10,000 runs at most. What an audit cannot see, it cannot pass: so the planted faults are audited with the very epsilon,
sampling rate and trials with which the sound silo is.
"""

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest

from siloseal.experiments.attacks.audit import Audit, audit_sum, audit_training, cross_guess
from siloseal.experiments.attacks.canary import Booked, Flaw, Training, book_on_disk, run_trial
from siloseal.experiments.attacks.confidence import Guesses
from siloseal.experiments.attacks.noisy_sums import SplitNoise
from siloseal.federation.errors import ConfigError
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps

SURE = 1 - 1e-4


@dataclass(frozen=True)
class Setting:
    """Of an audit."""

    epsilon: float
    sampling_rate: float
    steps: int
    trials: int

    def audit(self, flaw: Flaw = "none") -> Audit:
        return audit_training(
            self.epsilon,
            sampling_rate=self.sampling_rate,
            steps=self.steps,
            trials=self.trials,
            flaw=flaw,
            confidence=SURE,
        )


WHOLE = Setting(epsilon=1.0, sampling_rate=1.0, steps=4, trials=400)
SELDOM = Setting(epsilon=0.5, sampling_rate=0.02, steps=10, trials=400)
WEAK = Setting(epsilon=8.0, sampling_rate=1.0, steps=4, trials=600)


@pytest.fixture(scope="module")
def weak_noise() -> Audit:
    return WEAK.audit()


@pytest.mark.parametrize("setting", [WHOLE, SELDOM], ids=str)
def test_the_trainer_keeps_what_the_ledger_promises(setting: Setting) -> None:
    """As far as these audits see: the next tests say what they would have found."""
    audit = setting.audit()
    assert audit.epsilon <= audit.ledger_epsilon <= setting.epsilon
    assert not audit.alarm
    assert (audit.gaussian_epsilon is None) == (setting.sampling_rate < 1)


# How often a fault is missed: the rates of right and wrong guesses at the score of 0, from 200,000 pairs of normal
# numbers in the place of training, and two exact binomials over the trials.
@pytest.mark.parametrize(
    ("setting", "flaw"),
    [
        (WHOLE, "noise_off"),  # never missed: all guesses are right
        (WHOLE, "clip_too_wide"),  # missed in 8e-5 of the runs (rates 0.990 and 0.450)
        (SELDOM, "sampling_ignored"),  # 9e-6 (rates 0.963 and 0.443)
    ],
    ids=str,
)
def test_a_broken_silo_is_caught_although_its_ledger_is_content(setting: Setting, flaw: Flaw) -> None:
    audit = setting.audit(flaw)
    assert audit.ledger_epsilon <= setting.epsilon
    assert audit.epsilon > audit.ledger_epsilon
    assert audit.alarm


def test_halved_noise_shows_in_the_gaussian_bound_only(weak_noise: Audit) -> None:
    """Missed in 4e-8 of the runs (rates 0.942 and 0.059); the other bound would take tens of thousands of trials."""
    halved = WEAK.audit("noise_halved")
    assert halved.gaussian_epsilon is not None
    assert weak_noise.gaussian_epsilon is not None
    assert weak_noise.gaussian_epsilon <= weak_noise.ledger_epsilon < halved.gaussian_epsilon
    assert not halved.alarm


def test_the_audit_has_power(weak_noise: Audit) -> None:
    """Rates of 0.783 and 0.217: at a confidence of 0.99 they prove less than a third of epsilon in 8e-7 of the runs."""
    assert weak_noise.ledger_epsilon / 3 < weak_noise.central.gaussian_epsilon(weak_noise.delta, 0.99)
    assert weak_noise.central.true_positive_rate > weak_noise.central.false_positive_rate + 0.25


def test_the_threshold_is_chosen_on_trials_that_prove_nothing_afterwards() -> None:
    """The first halves can be parted, and the second are the other way round: whoever counts the first finds much."""
    first, second = np.ones(40), np.zeros(40)
    found = cross_guess(
        np.concatenate([first, second]), np.concatenate([second, first]), lambda made: made.epsilon(1e-5, 0.95)
    )
    assert found == Guesses(hits=0, trials_with=40, false_alarms=40, trials_without=40)


def test_the_bound_is_the_better_of_two_thresholds_and_each_takes_half_the_risk() -> None:
    good, coin = Guesses(100, 100, 0, 100), Guesses(50, 100, 50, 100)
    for chosen, central in ((good, coin), (coin, good)):
        audit = Audit(400, chosen, central, 1e-5, 0.95, 1.0, gaussian=False)
        assert audit.epsilon == good.epsilon(1e-5, 0.975)


def test_without_noise_every_guess_is_right() -> None:
    audit = audit_training(1.0, trials=60, flaw="noise_off")
    assert (audit.central.true_positive_rate, audit.central.false_positive_rate) == (1.0, 0.0)
    assert (audit.chosen.true_positive_rate, audit.chosen.false_positive_rate) == (1.0, 0.0)
    assert audit.chosen.trials_with == 15


def test_a_real_ledger_on_disk_books_the_steps() -> None:
    training = Training(epsilon=2.0, delta=1e-5, sampling_rate=0.5, steps=3, flaw="none")
    ledger = book_on_disk(training)
    event = SampledGaussianSteps(0.5, training.noise_multiplier, 3)
    assert [charge.event for charge in ledger.charges] == [event]
    assert ledger.epsilon == epsilon_of([event], 1e-5)
    assert 1.99 < ledger.epsilon <= 2.0


@pytest.mark.parametrize("flaw", [flaw for flaw in get_args(Flaw) if flaw != "none"])
def test_a_broken_silo_tells_its_ledger_the_same_as_a_sound_one(flaw: Flaw) -> None:
    sound, broken = Booked(), Booked()
    run_trial(Training(1.0, 1e-5, 0.5, 2, "none"), sound, canary=True)
    run_trial(Training(1.0, 1e-5, 0.5, 2, flaw), broken, canary=True)
    assert sound == broken


@pytest.mark.parametrize("noise", ["skellam", "ddg"])
def test_noise_that_is_split_over_silos_keeps_what_its_event_promises(noise: SplitNoise) -> None:
    """The audit has power: at epsilon 8 sums are 1.5 sigma apart and the rates differ by a half; a quarter is 5 sigma off."""
    audit = audit_sum(noise, 8.0, trials=320, confidence=SURE)
    assert audit.epsilon <= audit.ledger_epsilon <= 8.0
    assert audit.central.true_positive_rate > audit.central.false_positive_rate + 0.25
    assert audit.gaussian_epsilon is None


@pytest.mark.parametrize("trials", [20, 401])
def test_too_few_trials_or_an_odd_number_are_refused_before_the_first(trials: int) -> None:
    with pytest.raises(ConfigError, match=f"^{trials} trials"):
        audit_training(math.nan, trials=trials)
    with pytest.raises(ConfigError, match=f"^{trials} trials"):
        audit_sum("ddg", math.nan, trials=trials)
