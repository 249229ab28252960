"""What a job costs each silo, before anything runs: the same computation for the plan and for the silo."""

from dataclasses import dataclass, field

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import FEDAVG, PHASE_1, PHASE_2, WARM_START, participants, training_steps
from siloseal.federation.job.protection import (
    extra_entries,
    honest,
    inner_sum,
    protected_norm,
    quorum,
    sketch_mechanism,
    update_mechanism,
)
from siloseal.federation.job.sections.privacy import SiloLevel, UnitLevel
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.privacy.accounting import epsilon_of, epsilon_text, smallest_noise
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.sums.session import RealDomain


@dataclass(frozen=True)
class Lengths:
    """Of the vectors that travel: the kernel mean, 0 where there is none, and the model."""

    sketch: int
    model: int


@dataclass(frozen=True)
class SiloPlan:
    """One silo's share of a job. Noise is None where there is none in the steps."""

    sampling_rate: float
    step_noise: float | None
    """Noise multiplier of every training step, in all phases."""
    steps: dict[str, int]
    """Training steps by phase, in order."""
    releases: dict[str, list[Event]] = field(default_factory=dict)
    """What sums cost that are noised themselves, by phase: the kernel mean, or each round's update."""

    def events(self) -> dict[str, list[Event]]:
        """What the ledger will be charged with, by phase."""
        costs = {phase: list(events) for phase, events in self.releases.items()}
        if self.step_noise is not None:
            for phase, steps in self.steps.items():
                costs.setdefault(phase, []).append(SampledGaussianSteps(self.sampling_rate, self.step_noise, steps))
        return costs


def plan_silo(job: Job, silo: str, units: int, lengths: Lengths) -> SiloPlan:
    """Steps, sampling rate, and the least noise with which all phases together stay within the job's epsilon."""
    if units * job.images_a_unit > job.largest_silo:
        raise ConfigError(f"{silo} holds more examples than largest_silo, {job.largest_silo}; raise it in the job")
    rate = min(1.0, job.schedule.batch / units)
    steps = training_steps(job, silo, units)
    match job.privacy:
        case UnitLevel():
            return _plan_units(job, job.privacy, silo, units, SiloPlan(rate, None, steps), lengths)
        case SiloLevel():
            return SiloPlan(rate, None, steps, update_releases(job, job.privacy, silo, lengths.model))
        case _:
            return SiloPlan(rate, None, steps)


def _plan_units(job: Job, privacy: UnitLevel, silo: str, units: int, bare: SiloPlan, lengths: Lengths) -> SiloPlan:
    epsilon, delta, reserve = privacy.epsilon, privacy.delta, privacy.reserve_steps
    images = units * job.images_a_unit
    if delta * images >= 1:
        raise ConfigError(
            f"privacy.delta is {delta:g}, but {silo} holds {images} examples: a delta of 1 / examples or more lets a "
            f"mechanism publish somebody's example outright; use less than {0.94 / images:.2g}"
        )
    mechanism, inner, asked = sketch_mechanism(job, lengths.sketch), job.secure_sum.build(), len(job.silos.names)
    release = list[Event]()
    if mechanism is not None:
        domain = RealDomain(lengths.sketch, float(job.largest_silo))
        release = [mechanism.event(domain, honest(job, quorum(job, inner, asked)))]
    releases = {WARM_START: release} if release else {}
    in_all = sum(bare.steps.values())
    if in_all == 0:
        return SiloPlan(bare.sampling_rate, None, bare.steps, releases)

    def events_at(noise: float) -> list[Event]:
        return [*release, SampledGaussianSteps(bare.sampling_rate, noise, in_all + reserve)]

    noise = privacy.noise_multiplier
    if noise is None:
        noise = smallest_noise(events_at, epsilon=epsilon, delta=delta)
    elif not (cost := epsilon_of(events_at(noise), delta)) <= epsilon:
        raise ConfigError(
            f"privacy.noise_multiplier is {noise:g}, with which {silo}'s {in_all + reserve} steps and its warm start "
            f"cost epsilon {epsilon_text(cost)}, but privacy.epsilon is {epsilon:g}; raise one of them, or take fewer "
            "steps"
        )
    return SiloPlan(bare.sampling_rate, noise, bare.steps, releases)


def update_releases(job: Job, privacy: SiloLevel, silo: str, length: int) -> dict[str, list[Event]]:
    """One release for each sum of updates that this silo takes part in."""
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds):
            counts = {PHASE_1: 1, PHASE_2: rounds}
        case FedAvg(rounds=rounds):
            counts = {FEDAVG: sum(silo in participants(job, number) for number in range(1, rounds + 1))}
    return {phase: [_update(job, privacy, phase, length)] * count for phase, count in counts.items() if count}


def _update(job: Job, privacy: SiloLevel, phase: str, length: int) -> Event:
    # Whatever the clip norm is in a later round, the noise is in proportion to it, and the cost the same.
    entries, clip_norm = length + extra_entries(job), privacy.clip_norm
    mechanism = update_mechanism(job, privacy, phase, entries, clip_norm)
    domain = RealDomain(entries, protected_norm(job, clip_norm))
    asked = job.schedule.crowd(len(job.silos.names))
    return mechanism.event(domain, honest(job, quorum(job, inner_sum(job, phase), asked)))


def epsilon_by_phase(plan: SiloPlan, delta: float) -> dict[str, float]:
    """Each phase's epsilon alone, and `total`, which is less than their sum."""
    costs = plan.events()
    alone = {phase: epsilon_of(events, delta) for phase, events in costs.items()}
    return {**alone, "total": epsilon_of([event for events in costs.values() for event in events], delta)}
