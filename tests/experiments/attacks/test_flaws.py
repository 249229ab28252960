"""Every planted flaw is found, by guesses where guesses can, and a sound trainer passes.

A verdict of *broken* is false once in a million audits. The chances of missing a flaw are exact binomial tails of the
success that its noise allows, at the number of guesses that mean *broken*.
"""

from dataclasses import replace

import pytest

from siloseal.experiments.attacks.audited_training import audit_training, training
from siloseal.experiments.attacks.flaws import Flaw, ReusedKeys, flawed, planted
from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.events import GaussianRelease
from siloseal.privacy_audit.attackers import REUSED_NOISE
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.guesses import ALPHA, chance_of_finding
from siloseal.privacy_audit.stepping import BookedSteps
from siloseal.privacy_audit.success import step_success
from siloseal.privacy_audit.training import Subject, audit_low_bits, audit_steps

STRONG = 0.7
"""A noise multiplier at which one step says much."""


@pytest.fixture(scope="module")
def strong() -> Subject:
    subject = training(4.0)
    return replace(subject, booked=replace(subject.booked, noise_multiplier=STRONG))


def audit(subject: Subject, flaw: Flaw, *, steps: int = 500) -> Finding:
    return audit_steps(flawed(subject, flaw), steps=steps)


def test_a_sound_trainer_passes_and_the_guesses_come_near_to_what_is_booked(strong: Subject) -> None:
    """The attacker is right as often as the bound allows.

    381 right guesses are expected, with deviation 9.5; 320 or fewer come once in 1e9 audits.
    """
    found = audit(strong, "none")
    assert found.verdict == "sound"
    assert found.guesses.counts[0].right > 320
    assert found.noise is not None
    assert found.noise.share == pytest.approx(1.0, abs=0.02)  # of 320,000 entries: 16 deviations


def test_guesses_alone_find_half_the_noise(strong: Subject) -> None:
    """92 % of 500 guesses are right instead of 76 %; 427 mean broken, and fewer are right once in 2e7 audits."""
    found = audit(strong, "half_noise")
    assert found.guesses.p_value < ALPHA
    assert found.lower_bound > found.booked_epsilon


@pytest.mark.parametrize("later", [1, 2, 60])
def test_guesses_alone_find_noise_that_is_used_twice(later: int) -> None:
    """Every second step, or half of 120, leaves the canary bare: 79 % of 600 guesses are right instead of 59 %.

    410 mean broken, and fewer are right once in 7e7 audits.
    """
    found = audit_steps(replace(training(4.0), randomness=ReusedKeys(later)), steps=600)
    assert found.guesses.p_value < ALPHA
    assert found.guesses.best.attacker == REUSED_NOISE
    assert found.lower_bound > found.booked_epsilon


def test_guesses_alone_find_that_nobody_is_sampled() -> None:
    """A canary in every step instead of one in fifty: 78 % of 500 guesses are right instead of 50.6 %; 308 mean broken."""
    subject = training(4.0, sampling_rate=0.02)
    assert audit(subject, "none").verdict == "sound"
    assert audit(subject, "no_sampling").guesses.p_value < ALPHA


def test_the_number_of_drawn_units_shows_in_ten_steps_that_nobody_is_sampled() -> None:
    """Ten guesses are too few for any verdict: even ten right ones of ten come once in 1,000 sound audits.

    Four units are drawn in each of ten steps. Where each is with chance 0.02, all are once in 1e67 audits.
    """
    booked = training(4.0, sampling_rate=0.02).booked
    subject = replace(training(4.0, sampling_rate=0.02), booked=replace(booked, noise_multiplier=4.0))
    assert audit(subject, "none", steps=10).verdict == "sound"
    found = audit(subject, "no_sampling", steps=10)
    assert found.verdict == "broken"
    assert found.sample is not None
    assert found.sample.share == 1.0


@pytest.mark.parametrize("flaw", ["tenth_less_noise", "clip_too_wide"])
def test_small_faults_show_in_the_measured_noise(strong: Subject, flaw: Flaw) -> None:
    """Of 64,000 entries of 100 steps the noise is known to 0.3 %: these faults are 30 deviations away."""
    found = audit(strong, flaw, steps=100)
    assert found.verdict == "broken"
    assert found.noise is not None
    assert found.noise.share == pytest.approx(0.9 if flaw == "tenth_less_noise" else 1 / 1.2, abs=0.02)


@pytest.mark.parametrize("sampling_rate", [1.0, 0.3])
def test_the_low_bits_of_float_noise_give_the_canary_away(strong: Subject, sampling_rate: float) -> None:
    """Every guess is right: 50 of them come once in 1e6 audits of a trainer that keeps what is booked.

    Where the job samples, its expected batch is no power of two, and dividing by it would hide the bits.
    """
    subject = flawed(replace(strong, sampling_rate=sampling_rate), "float_noise")
    with planted(subject):
        found = audit_low_bits(subject, steps=100)
    (count,) = found.guesses.counts
    assert count.right == count.guesses
    assert found.verdict == "broken"


def test_the_low_bits_of_the_trainer_give_nothing_away(strong: Subject) -> None:
    assert audit_low_bits(strong, steps=200).verdict == "sound"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flaw", "noise", "steps", "actual"),
    [
        ("clip_too_wide", 0.45, 8_000, 0.45 / 1.2),
        ("tenth_less_noise", 0.5, 20_000, 0.45),
    ],
)
def test_guesses_alone_find_small_faults_in_many_steps(
    strong: Subject, flaw: Flaw, noise: float, steps: int, actual: float
) -> None:
    """Nothing is taken for granted about the noise. The miss rate is below one in a million, by the assertion."""
    subject = replace(strong, booked=replace(strong.booked, noise_multiplier=noise))
    found = audit(subject, flaw, steps=steps)
    needed = found.guesses.needed(steps)
    assert chance_of_finding(needed, steps, step_success(1.0, actual)) > 1 - 1e-6
    assert found.guesses.p_value < ALPHA
    assert audit(subject, "none", steps=2000).verdict == "sound"


@pytest.mark.slow
def test_the_bound_at_epsilon_4_comes_near_to_the_ledgers() -> None:
    """Of 20,000 steps; exactly counted the booked steps cost 3.70. One audit in 500,000 proves less, or more."""
    found = audit_training(4.0, steps=20_000)
    assert found.verdict == "sound"
    assert 2.46 < found.lower_bound < 4.1


def test_a_deceived_ledger_books_steps_and_nothing_else(strong: Subject) -> None:
    ledger = flawed(strong, "half_noise").privacy(BookedSteps(strong.step)).ledger
    ledger.charge(replace(strong.step, noise_multiplier=STRONG / 2), phase="audit")
    with pytest.raises(UncountableEvent):
        ledger.charge(GaussianRelease(1.0), phase="audit")
