"""Every learner's steps can be audited: the canary reaches the clip norm, and the attacker knows all but the noise.

What the auditor subtracts is exact for each learner, so that the noise that is left has the booked size: of 30 steps of
a hundred parameters or more, its measured deviation errs by 10 % once in 1e10 audits.
"""

import pytest
import torch

from siloseal.experiments.attacks.flaws import flawed
from siloseal.federation.job.sections.privacy import ExampleLevel
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.models.building import build_learner
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.training import audit_steps
from siloseal.privacy_audit.training_parts import steps_subject
from siloseal.privacy_audit.units import made_up_units, with_canary
from tests.contracts.test_learners import CLASSES, LEARNERS, data, job_of

STEPS = 30


@pytest.mark.parametrize("sampling_rate", [1.0, 0.3])
@pytest.mark.parametrize("name", LEARNERS)
def test_all_but_the_noise_of_a_step_is_known(name: str, sampling_rate: float) -> None:
    privacy = ExampleLevel(kind="example_level", epsilon=1.0, delta=1e-5, clip_norm=0.01)
    booked = SampledGaussianSteps(sampling_rate, 0.8, STEPS)
    torch.manual_seed(0)
    found = audit_steps(steps_subject(job_of(name), privacy, data(), range(CLASSES), booked), steps=STEPS)
    assert found.guesses.steps == STEPS
    assert found.verdict == "sound"
    assert found.noise is not None
    assert found.noise.distance == pytest.approx(privacy.clip_norm, rel=1e-4)
    assert found.noise.share == pytest.approx(1.0, abs=0.1)


def test_the_canary_is_twice_as_long_as_the_clip_norm_so_that_wider_clips_show() -> None:
    """Pixels up to 1 give a gradient just above this clip norm: 1.2 times as much would cut nothing."""
    booked, job, known = SampledGaussianSteps(1.0, 0.8, STEPS), job_of("logistic classifier"), KnownRandomness()
    learner = build_learner(job, data().shape, CLASSES, labels=range(CLASSES), expected_batch=4, randomness=known)
    _, norm = with_canary(learner, made_up_units(job, data(), list(range(CLASSES)), 1.0, known), known)
    privacy = ExampleLevel(kind="example_level", epsilon=1.0, delta=1e-5, clip_norm=0.999 * norm)
    subject = steps_subject(job, privacy, data(), range(CLASSES), booked)
    assert subject.canary_norm >= 2 * privacy.clip_norm
    found = audit_steps(flawed(subject, "clip_too_wide"), steps=100)
    assert (found.verdict, found.untested_clip) == ("broken", None)


def test_inputs_are_scaled_until_the_canary_is_clipped() -> None:
    """Pixels up to 1 give no gradient so long; an attacker may bring any record that can be read."""
    privacy = ExampleLevel(kind="example_level", epsilon=1.0, delta=1e-5, clip_norm=50.0)
    booked = SampledGaussianSteps(1.0, 0.8, STEPS)
    found = audit_steps(steps_subject(job_of("logistic classifier"), privacy, data(), range(CLASSES), booked), steps=1)
    assert found.noise is not None
    assert found.noise.distance == pytest.approx(50.0, rel=1e-3)
