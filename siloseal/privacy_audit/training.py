"""The audit of a trainer's steps, each against the event that is booked for it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dp_accounting.pld import privacy_loss_distribution

from siloseal.federation.job.sections.optimizers import OptimizerConfig
from siloseal.federation.privacy.accounting import counted, epsilon_of
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.privacy_audit import attackers
from siloseal.privacy_audit.attackers import Attacker
from siloseal.privacy_audit.finding import BookedAs, Finding
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, Guesses, looks_until
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.sample_size import SampleSize
from siloseal.privacy_audit.stepping import AuditedTrainer, BookedSteps, Step
from siloseal.privacy_audit.success import gaussian_epsilon, largest_success, noise_of
from siloseal.privacy_audit.units import CanaryUnits
from siloseal.silo.training.trainer import Chargeable, Privacy

TOLD_EVERY_SECONDS = 0.5
LONGEST_CHUNK = 50
"""Most steps of one call of the trainer, as in real trainings."""

Progress = Callable[[int], None]
"""Function that is told how many steps are done."""


@dataclass(frozen=True)
class Subject:
    """What is audited: a learner with its units, and the steps that a silo's ledger books."""

    learner: ExampleLearner | TaskLearner
    units: CanaryUnits
    known: KnownRandomness
    """Randomness of the learner and its units."""
    optimizer: OptimizerConfig
    clip_norm: float
    booked: SampledGaussianSteps
    """All training steps of the job, as its ledger books them."""
    delta: float
    sampling_rate: float
    """Sampling rate of the audited steps: the job's, or 1, where faults of noise and clipping show best."""
    canary_norm: float
    """Length of the canary's gradient before it is clipped."""
    randomness: Randomness = field(default_factory=SecureRandomness)
    """Randomness of the trainer: samples and noise."""

    def privacy(self, ledger: Chargeable) -> Privacy:
        """The privacy settings, as the trainer takes them."""
        return Privacy(self.clip_norm, self.booked.noise_multiplier, ledger)

    def in_every_step(self) -> "Subject":
        """The same with every unit in every step."""
        return replace(self, sampling_rate=1.0)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise that the trainer is to add."""
        return self.privacy(BookedSteps(self.step)).noise_std

    @property
    def step(self) -> SampledGaussianSteps:
        """One of the audited steps, as the trainer must book it."""
        return SampledGaussianSteps(self.sampling_rate, self.booked.noise_multiplier, 1)


def audit_steps(
    subject: Subject,
    *,
    steps: int,
    seconds: float = math.inf,
    part: str = "training steps",
    tell: Progress | None = None,
) -> Finding:
    """Audit up to so many steps, or as many as these seconds allow; fewer where a fault is plain before."""
    rules: dict[str, Attacker] = {
        attackers.ALONG_CANARY: attackers.along_canary,
        attackers.REUSED_NOISE: attackers.ReusedNoise(subject.noise_std),
    }
    return _audited(subject, rules, steps, seconds, part, tell, sized=True)


def audit_low_bits(
    subject: Subject, *, steps: int, seconds: float = math.inf, part: str = "low bits", tell: Progress | None = None
) -> Finding:
    """Audit the bits of the noised sums, with every unit in every step."""
    rules = {attackers.LOW_BITS: attackers.low_bits(subject.noise_std)}
    return _audited(subject.in_every_step(), rules, steps, seconds, part, tell, sized=False)


def _audited(
    subject: Subject,
    rules: dict[str, Attacker],
    steps: int,
    seconds: float,
    part: str,
    tell: Progress | None,
    *,
    sized: bool,
) -> Finding:
    one = subject.step
    bounds = dict.fromkeys(rules, largest_success(one))
    guesses = Guesses(bounds, looks_until(steps), BESIDE_SIZE if sized else ALPHA)
    noise = NoiseSize(one.noise_multiplier)
    sample = SampleSize(one.sampling_rate) if sized and one.sampling_rate < 1 else None

    def attack(step: Step) -> None:
        guesses.add(step.coin, {name: rule(step) for name, rule in rules.items()})
        noise.moved(max(float(step.sums.move.norm()), subject.clip_norm))
        noise.add(step.noise.numpy())
        if sample is not None:
            sample.add(step.drawn, units=len(subject.units))

    trainer = AuditedTrainer(
        subject.learner,
        subject.units,
        subject.known,
        sampling_rate=one.sampling_rate,
        optimizer=subject.optimizer,
        privacy=subject.privacy(BookedSteps(one)),
        randomness=subject.randomness,
        on_step=attack,
    )
    spent = _take_steps(trainer, guesses, steps, seconds, tell)
    proven = steps_epsilon(subject.booked, noise_of(guesses.least_success(), one.sampling_rate), subject.delta)
    booked = counted([subject.booked], subject.delta)
    found = Finding(part, one, guesses, noise if sized else None, proven, booked.epsilon, subject.delta, spent)
    found = replace(found, booked=BookedAs(subject.booked, 1, booked.accountant))
    return replace(found, sample=sample, canary_over_clip=subject.canary_norm / subject.clip_norm) if sized else found


def _take_steps(trainer: AuditedTrainer, guesses: Guesses, steps: int, seconds: float, tell: Progress | None) -> float:
    """Train until all steps are taken, a fault is plain, or the time is over. Returns the seconds that it took."""
    began, spent, chunk = time.monotonic(), 0.0, 2
    while guesses.steps < steps and not guesses.found and spent <= seconds:
        trainer.train(min(chunk, steps - guesses.steps), phase="audit")
        spent = time.monotonic() - began
        chunk = max(2, min(LONGEST_CHUNK, int(TOLD_EVERY_SECONDS * guesses.steps / max(spent, 1e-6))))
        if tell is not None:
            tell(guesses.steps)
    guesses.finish()
    return spent


def steps_epsilon(booked: SampledGaussianSteps, noise_multiplier: float, delta: float) -> float:
    """Epsilon of the booked steps, had they this much noise: as tight as it can be counted.

    With the most noise that the guesses leave possible, it is a lower bound for steps whose noise is normal and whose
    samples are as booked.
    """
    if math.isinf(noise_multiplier):
        return 0.0
    if noise_multiplier == 0:
        return math.inf
    if booked.sampling_rate == 1:
        return gaussian_epsilon(math.sqrt(booked.steps) / noise_multiplier, delta)
    return _sampled_epsilon(replace(booked, noise_multiplier=noise_multiplier), delta)


def _sampled_epsilon(event: SampledGaussianSteps, delta: float) -> float:
    """Epsilon of steps on samples by privacy loss distributions, rounded down: never above the truth."""
    width = max(1e-3, epsilon_of([event], delta) * 1e-4)  # a wider grid for numbers that mean nothing any more
    losses = privacy_loss_distribution.from_gaussian_mechanism(
        event.noise_multiplier,
        sampling_prob=event.sampling_rate,
        value_discretization_interval=width,
        pessimistic_estimate=False,
        use_connect_dots=False,
    )
    return max(0.0, float(losses.self_compose(event.steps).get_epsilon_for_delta(delta)))
