"""Audits of training steps: what is read from the optimizer, what is booked, and when an audit ends."""

from dataclasses import replace

import pytest
import torch

from siloseal.experiments.attacks.audited_training import training
from siloseal.experiments.attacks.flaws import Flaw, flawed
from siloseal.experiments.attacks.softmax_learner import softmax_learner
from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.optimizers import DpAdamBcConfig, DpAdamConfig, DpSgdConfig, OptimizerConfig
from siloseal.federation.privacy.accounting import epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.privacy_audit.attackers import ALONG_CANARY, REUSED_NOISE
from siloseal.privacy_audit.stepping import AuditedTrainer, BookedSteps, Step
from siloseal.privacy_audit.training import Subject, audit_steps, steps_epsilon
from siloseal.privacy_audit.units import with_canary
from siloseal.silo.data.embedded import digits


@pytest.fixture(scope="module")
def subject() -> Subject:
    return training(4.0)


OPTIMIZERS: tuple[OptimizerConfig, ...] = (
    DpAdamConfig(kind="dp_adam"),
    DpAdamBcConfig(kind="dp_adam_bc"),
    DpSgdConfig(kind="dp_sgd", momentum=0.9),
    DpSgdConfig(kind="dp_sgd", learning_rate=0.5),
    DpSgdConfig(kind="dp_sgd", learning_rate=1e-12),  # moves no weight: single precision rounds it away
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda config: f"{config.kind}")
def test_the_noised_sum_is_what_the_optimizer_is_given(subject: Subject, optimizer: OptimizerConfig) -> None:
    """Whatever it makes of it. 30 steps have 19,200 entries: their measured deviation errs by 5 % once in 1e16 audits."""
    found = audit_steps(replace(subject, optimizer=optimizer), steps=30)
    assert found.verdict == "sound"
    assert found.noise is not None
    assert found.noise.share == pytest.approx(1.0, abs=0.05)


def with_dropout(subject: Subject) -> Subject:
    torch.manual_seed(1)
    images, learner = digits().made_up(16), softmax_learner(digits().made_up(16))
    learner.private_module.insert(1, torch.nn.Dropout(0.5))  # type: ignore[operator]
    units, norm = with_canary(learner, images, subject.known)
    booked = replace(subject.booked, noise_multiplier=0.7)
    return replace(subject, learner=learner, units=units, canary_norm=norm, booked=booked)


@pytest.mark.parametrize("sampling_rate", [1.0, 0.3])
@pytest.mark.parametrize("flaw", ["none", "half_noise"])
def test_a_network_with_dropout_is_sound_and_half_its_noise_is_found(
    subject: Subject, flaw: Flaw, sampling_rate: float
) -> None:
    """300 steps have 192,000 entries: the deviation errs by 2 % once in 1e30 audits."""
    booked = replace(with_dropout(subject), sampling_rate=sampling_rate)
    found = audit_steps(flawed(booked, flaw), steps=300)
    assert found.verdict == ("sound" if flaw == "none" else "broken")
    assert found.noise is not None
    assert found.noise.share == pytest.approx(1.0 if flaw == "none" else 0.5, abs=0.02)


def test_dropout_is_drawn_anew_in_each_step_and_alike_for_the_two_sums_of_one(subject: Subject) -> None:
    seen = steps_of(with_dropout(subject), 5)
    assert len({float(step.sums.without.norm()) for step in seen}) == 5
    assert all(float(step.sums.move.norm()) <= subject.clip_norm * (1 + 1e-5) for step in seen)


def steps_of(subject: Subject, count: int) -> list[Step]:
    seen = list[Step]()
    trainer = AuditedTrainer(
        subject.learner,
        subject.units,
        subject.known,
        sampling_rate=subject.sampling_rate,
        optimizer=subject.optimizer,
        privacy=subject.privacy(BookedSteps(subject.step)),
        randomness=subject.randomness,
        on_step=seen.append,
    )
    trainer.train(count, phase="audit")
    return seen


def test_the_canary_is_there_when_the_coin_says_so(subject: Subject) -> None:
    """Of 40 coins all are alike once in 5e11 audits."""
    seen = steps_of(subject, 40)
    assert all(step.met == step.coin for step in seen)  # every unit is in every step
    assert len({step.coin for step in seen}) == 2
    assert float(seen[0].sums.move.norm()) == pytest.approx(subject.clip_norm, rel=1e-5)


def test_every_step_begins_with_the_same_weights(subject: Subject) -> None:
    before = [parameter.detach().clone() for parameter in subject.learner.private_module.parameters()]
    steps_of(subject, 3)
    assert all(map(torch.equal, before, subject.learner.private_module.parameters()))


def test_on_samples_the_canary_is_met_at_the_sampling_rate() -> None:
    """300 steps at a rate of 0.02: more than 30 of them have the canary once in 1e15 audits."""
    seen = steps_of(training(4.0, sampling_rate=0.02), 300)
    assert sum(step.met for step in seen) < 30
    assert not any(step.met and not step.coin for step in seen)


def test_steps_that_are_booked_otherwise_than_they_are_audited_are_refused(subject: Subject) -> None:
    ledger = BookedSteps(subject.step)
    ledger.charge(replace(subject.step, steps=5), phase="audit")
    assert ledger.steps == [5]
    with pytest.raises(RunError):
        ledger.charge(replace(subject.step, noise_multiplier=9.0), phase="audit")


def test_an_audit_without_time_takes_one_chunk_and_says_how_far_it_came(subject: Subject) -> None:
    told = list[int]()
    found = audit_steps(subject, steps=1000, seconds=0.0, tell=told.append)
    assert told == [found.guesses.steps]
    assert found.guesses.steps < 1000
    assert {count.attacker for count in found.guesses.counts} == {ALONG_CANARY, REUSED_NOISE}
    assert found.verdict == "sound"


def test_an_audit_says_which_faults_it_would_have_found(subject: Subject) -> None:
    """Noise that is smaller by the stated share is found nine times in ten; by few guesses, only gross faults are."""
    found = audit_steps(subject, steps=100)
    assert found.found_by_guesses is not None
    assert found.found_by_noise is not None
    assert found.found_by_noise < 0.05 < 0.5 < found.found_by_guesses < 1
    faint = replace(subject, booked=SampledGaussianSteps(1e-4, 1.0, 10), sampling_rate=1e-4)
    assert audit_steps(faint, steps=50).found_by_guesses is None


@pytest.mark.parametrize("booked", [SampledGaussianSteps(1.0, 2.3, 4), SampledGaussianSteps(0.1, 1.2, 50)], ids=str)
def test_what_is_proven_is_never_above_what_is_counted(booked: SampledGaussianSteps) -> None:
    """By privacy loss distributions from below and from above, they part by 1e-3 a step at most."""
    exact = steps_epsilon(booked, booked.noise_multiplier, 1e-5)
    above = epsilon_of([booked], 1e-5)
    assert exact <= above + 1e-9 <= exact + 1e-3 * booked.steps
    assert exact < renyi_epsilon_of([booked], 1e-5)
    assert steps_epsilon(booked, float("inf"), 1e-5) == 0
    assert steps_epsilon(booked, 0.0, 1e-5) == float("inf")
