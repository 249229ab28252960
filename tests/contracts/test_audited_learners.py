"""Every learner's steps can be audited: the canary reaches the clip norm, and the attacker knows all but the noise.

What the auditor subtracts is exact for each learner, so that the noise that is left has the booked size: of 30 steps of
a hundred parameters or more, its measured deviation errs by 10 % once in 1e10 audits.
"""

import pytest
import torch

from siloseal.federation.job.sections.privacy import ExampleLevel
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.privacy_audit.training import audit_steps
from siloseal.privacy_audit.training_parts import steps_subject
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


def test_inputs_are_scaled_until_the_canary_is_clipped() -> None:
    """Pixels up to 1 give no gradient so long; an attacker may bring any record that can be read."""
    privacy = ExampleLevel(kind="example_level", epsilon=1.0, delta=1e-5, clip_norm=50.0)
    booked = SampledGaussianSteps(1.0, 0.8, STEPS)
    found = audit_steps(steps_subject(job_of("logistic classifier"), privacy, data(), range(CLASSES), booked), steps=1)
    assert found.noise is not None
    assert found.noise.distance == pytest.approx(50.0, rel=1e-3)
