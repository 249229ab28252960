"""The audit finds nothing where nothing is wrong, much of what there is, and every planted fault.

Lower bounds are taken at a confidence of 1 - 1e-4 where they must not exceed the ledger's epsilon, so that each of them
raises a false alarm once in 10,000 runs at most.
"""

import pytest

from experiments.attacks.audit import Audit, audit_sum, audit_training
from experiments.attacks.canary import Booked, Flaw, Training, book_on_disk, run_trial
from experiments.attacks.noisy_sums import SplitNoise
from federation.accounting import epsilon_of
from federation.errors import ConfigError
from federation.events import SampledGaussianSteps

SURE = 1 - 1e-4
TRIALS = 400


@pytest.fixture(scope="module")
def weak_noise() -> Audit:
    return audit_training(8.0, trials=600)


@pytest.mark.parametrize(("epsilon", "rate"), [(1.0, 1.0), (4.0, 1.0), (2.0, 0.25)])
def test_the_trainer_keeps_what_the_ledger_promises(epsilon: float, rate: float) -> None:
    audit = audit_training(epsilon, sampling_rate=rate, trials=TRIALS, confidence=SURE)
    assert audit.epsilon <= audit.ledger_epsilon <= epsilon
    assert not audit.alarm
    if rate == 1:
        assert audit.gaussian_epsilon is not None
        assert audit.gaussian_epsilon <= audit.ledger_epsilon
    else:
        assert audit.gaussian_epsilon is None


def test_the_audit_has_power(weak_noise: Audit) -> None:
    """Guesses at a distance of 1.57 sigma prove less than a third of epsilon with probability 5e-9, by two binomials."""
    assert weak_noise.ledger_epsilon / 3 < (weak_noise.gaussian_epsilon or 0)
    assert weak_noise.central.gaussian_epsilon(weak_noise.delta, SURE) <= weak_noise.ledger_epsilon
    assert weak_noise.central.true_positive_rate > weak_noise.central.false_positive_rate + 0.25


@pytest.mark.parametrize(
    ("flaw", "epsilon", "rate", "trials"),
    [
        ("noise_off", 1.0, 1.0, TRIALS),
        ("noise_off", 1.0, 0.25, TRIALS),
        ("clip_too_wide", 1.5, 1.0, TRIALS),
        ("clip_too_wide", 1.0, 0.25, 2 * TRIALS),
    ],
)
def test_a_broken_silo_is_caught_although_its_ledger_is_content(
    flaw: Flaw, epsilon: float, rate: float, trials: int
) -> None:
    """No miss in 500 to 1,500 audits that were simulated with normal numbers in the place of training."""
    audit = audit_training(epsilon, sampling_rate=rate, trials=trials, flaw=flaw)
    assert audit.ledger_epsilon <= epsilon
    assert audit.epsilon > audit.ledger_epsilon
    assert audit.alarm


def test_without_noise_every_guess_is_right() -> None:
    audit = audit_training(1.0, trials=60, flaw="noise_off")
    assert (audit.guesses.true_positive_rate, audit.guesses.false_positive_rate) == (1.0, 0.0)


def test_a_real_ledger_on_disk_books_the_steps() -> None:
    training = Training(epsilon=2.0, delta=1e-5, sampling_rate=0.5, steps=3, flaw="none")
    ledger = book_on_disk(training)
    event = SampledGaussianSteps(0.5, training.noise_multiplier, 3)
    assert [charge.event for charge in ledger.charges] == [event]
    assert ledger.epsilon == epsilon_of([event], 1e-5)
    assert 1.99 < ledger.epsilon <= 2.0


def test_a_silo_with_too_wide_a_clip_tells_its_ledger_the_same_as_a_sound_one() -> None:
    told = list[Booked]()
    for flaw in ("none", "clip_too_wide", "noise_off"):
        told.append(Booked())
        run_trial(Training(1.0, 1e-5, 1.0, 2, flaw), told[-1], canary=True)  # type: ignore[arg-type]
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("noise", ["skellam", "ddg"])
def test_noise_that_is_split_over_silos_keeps_what_its_event_promises(noise: SplitNoise) -> None:
    """The audit has power: at epsilon 8 sums are 1.5 sigma apart and the rates differ by a half; a quarter is 6 sigma off."""
    audit = audit_sum(noise, 8.0, trials=500, confidence=SURE)
    assert audit.epsilon <= audit.ledger_epsilon <= 8.0
    assert audit.central.true_positive_rate > audit.central.false_positive_rate + 0.25
    assert audit.gaussian_epsilon is None


def test_too_few_trials_are_refused() -> None:
    with pytest.raises(ConfigError, match="prove nothing"):
        audit_training(1.0, trials=20)
