"""The audit of a small training whose ledger books a given epsilon, sound or with a planted flaw."""

from siloseal.experiments.attacks.flaws import Flaw, FlawedSubject, flawed, planted
from siloseal.experiments.attacks.softmax_learner import softmax_learner
from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.privacy.least_noise import smallest_noise
from siloseal.privacy_audit.finding import Finding
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.training import Subject, audit_low_bits, audit_steps
from siloseal.privacy_audit.units import CANDIDATES, with_canary
from siloseal.silo.data.embedded import digits

CLIP_NORM = 1.0
STEPS = 4
"""Number of training steps that the ledger books, where every unit is in every step."""
SAMPLED_STEPS = 10


def training(epsilon: float, *, delta: float = 1e-5, sampling_rate: float = 1.0) -> Subject:
    """A training of few steps by DP-Adam on digits, with the least noise that this epsilon takes."""
    steps = STEPS if sampling_rate == 1 else SAMPLED_STEPS
    noise = smallest_noise(
        lambda noise: [SampledGaussianSteps(sampling_rate, noise, steps)], epsilon=epsilon, delta=delta
    )
    source = digits().made_up(CANDIDATES)
    learner, known = softmax_learner(source), KnownRandomness()
    units, norm = with_canary(learner, source, known)
    booked = SampledGaussianSteps(sampling_rate, noise, steps)
    return Subject(learner, units, known, DpAdamConfig(kind="dp_adam"), CLIP_NORM, booked, delta, sampling_rate, norm)


def audit_training(epsilon: float, *, sampling_rate: float = 1.0, steps: int = 2000, flaw: Flaw = "none") -> Finding:
    """Audit the steps of such a training at a silo with this flaw; noise in single precision by its low bits."""
    subject = flawed(training(epsilon, sampling_rate=sampling_rate), flaw)
    with planted(subject):
        return _audit(subject, steps)


def _audit(subject: FlawedSubject, steps: int) -> Finding:
    return audit_low_bits(subject, steps=steps) if subject.flaw == "float_noise" else audit_steps(subject, steps=steps)
