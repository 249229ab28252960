"""Audits of training steps: what is read from the optimizer, what is booked, and when an audit ends."""

from dataclasses import replace

import pytest
import torch

from siloseal.experiments.attacks.audited_training import training
from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.optimizers import DpAdamBcConfig, DpAdamConfig, DpSgdConfig, OptimizerConfig
from siloseal.federation.privacy.accounting import epsilon_of, renyi_epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.privacy_audit.attackers import ALONG_CANARY, REUSED_NOISE
from siloseal.privacy_audit.stepping import AuditedTrainer, BookedSteps, Step
from siloseal.privacy_audit.training import Subject, audit_steps, steps_epsilon


@pytest.fixture(scope="module")
def subject() -> Subject:
    return training(4.0)


OPTIMIZERS: tuple[OptimizerConfig, ...] = (
    DpAdamConfig(kind="dp_adam"),
    DpAdamBcConfig(kind="dp_adam_bc"),
    DpSgdConfig(kind="dp_sgd", momentum=0.9),
    DpSgdConfig(kind="dp_sgd", learning_rate=0.5),
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda config: f"{config.kind}")
def test_the_noised_sum_is_read_from_what_the_optimizer_keeps(subject: Subject, optimizer: OptimizerConfig) -> None:
    """30 steps have 19,200 entries: their measured deviation errs by 5 % once in 1e16 audits."""
    found = audit_steps(replace(subject, optimizer=optimizer), steps=30)
    assert found.noise is not None
    assert found.noise.share == pytest.approx(1.0, abs=0.05)


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
