"""What each silo does in each phase of a job, and what it costs: the same computation for the plan and for the silo."""

from dataclasses import dataclass

import numpy as np

from federation.accounting import epsilon_of, smallest_noise
from federation.config.job import ExampleLevel, FedAvg, Job, KernelMeanStart, LeaderStart, TwoPhase
from federation.errors import ConfigError, WrongRound
from federation.events import Event, GaussianRelease, SampledGaussianSteps

WARM_START, PHASE_1, PHASE_2, FEDAVG = "warm_start", "phase_1", "phase_2", "fedavg"


@dataclass(frozen=True)
class SiloPlan:
    """One silo's share of a job. Noise is None where privacy is off."""

    sampling_rate: float
    release_noise: float | None
    """Noise multiplier of the kernel mean's one release, if there is one."""
    step_noise: float | None
    """Noise multiplier of every training step, in all phases."""
    steps: dict[str, int]
    """Training steps by phase, in order."""

    def events(self) -> dict[str, list[Event]]:
        """What the ledger will be charged with, by phase."""
        costs: dict[str, list[Event]] = {}
        if self.release_noise is not None:
            costs[WARM_START] = [GaussianRelease(self.release_noise)]
        if self.step_noise is not None:
            for phase, steps in self.steps.items():
                costs.setdefault(phase, []).append(SampledGaussianSteps(self.sampling_rate, self.step_noise, steps))
        return costs


def plan_silo(job: Job, silo: str, examples: int) -> SiloPlan:
    """Steps, sampling rate, and the least noise with which all phases together stay within the job's epsilon."""
    if examples > job.largest_silo:
        raise ConfigError(f"{silo} holds more examples than largest_silo, {job.largest_silo}; raise it in the job")
    rate = min(1.0, job.schedule.batch / examples)
    steps = training_steps(job, silo, examples)
    if not isinstance(job.privacy, ExampleLevel):
        return SiloPlan(rate, None, None, steps)
    epsilon, delta, reserve = job.privacy.epsilon, job.privacy.delta, job.privacy.reserve_steps
    if delta * examples >= 1:
        raise ConfigError(
            f"privacy.delta is {delta:g}, but {silo} holds {examples} examples: a delta of 1 / examples or more lets a "
            f"mechanism publish somebody's example outright; use less than {1 / examples:.1g}"
        )
    release_noise = sketch_noise(job)
    in_all = sum(steps.values())
    if in_all == 0:
        return SiloPlan(rate, release_noise, None, steps)
    release = [] if release_noise is None else [GaussianRelease(release_noise)]
    step_noise = smallest_noise(
        lambda z: [*release, SampledGaussianSteps(rate, z, in_all + reserve)], epsilon=epsilon, delta=delta
    )
    return SiloPlan(rate, release_noise, step_noise, steps)


def sketch_noise(job: Job) -> float | None:
    """Noise multiplier of the kernel mean's release; None where there is no such release or no privacy."""
    if not isinstance(job.warm_start, KernelMeanStart) or not isinstance(job.privacy, ExampleLevel):
        return None
    start, delta = job.warm_start, job.privacy.delta
    return smallest_noise(lambda z: [GaussianRelease(z)], epsilon=start.epsilon, delta=delta)


def training_steps(job: Job, silo: str, examples: int) -> dict[str, int]:
    """Discriminator steps on private data, by phase. Phases without any are left out."""
    steps = dict[str, int]()
    if isinstance(job.warm_start, LeaderStart) and job.warm_start.silo == silo:
        steps[WARM_START] = job.warm_start.steps
    match job.schedule:
        case TwoPhase(local_steps=local_steps, tuning_rounds=rounds, tuning_steps=tuning_steps):
            steps[PHASE_1] = local_steps
            steps[PHASE_2] = rounds * tuning_steps
        case FedAvg(rounds=rounds) as schedule:
            joined = sum(silo in participants(job, number) for number in range(1, rounds + 1))
            steps[FEDAVG] = joined * steps_in_a_round(schedule, examples)
    return {phase: count for phase, count in steps.items() if count}


def requested_steps(job: Job, silo: str, examples: int, phase: str, round: int) -> int:
    """How many steps the job has in one training request; the aggregator cannot ask for more, or for other phases."""
    planned = training_steps(job, silo, examples)
    match phase, job.schedule:
        case (("warm_start" | "phase_1"), _) if phase in planned and round == 0:
            return planned[phase]
        case "phase_2", TwoPhase(tuning_rounds=rounds, tuning_steps=steps) if 1 <= round <= rounds:
            return steps
        case "fedavg", FedAvg(rounds=rounds) as schedule if 1 <= round <= rounds and silo in participants(job, round):
            return steps_in_a_round(schedule, examples)
    raise WrongRound(f"the job has no training of {silo} in {phase}, round {round}")


def steps_in_a_round(schedule: FedAvg, examples: int) -> int:
    """E passes over the data in Poisson batches of B expected examples."""
    return max(1, round(schedule.local_epochs * examples / schedule.batch))


def participants(job: Job, round: int) -> tuple[str, ...]:
    """Who a round asks: everyone in phase 2; in FedAvg a public random part, the same for all who compute it."""
    silos = job.silos.names
    if not isinstance(job.schedule, FedAvg) or job.schedule.fraction == 1.0:
        return silos
    count = job.schedule.crowd(len(silos))
    chosen = np.random.default_rng([job.seed, round]).choice(len(silos), count, replace=False)
    return tuple(silos[index] for index in sorted(chosen))


def epsilon_by_phase(plan: SiloPlan, delta: float) -> dict[str, float]:
    """Each phase's epsilon alone, and `total`, which is less than their sum."""
    costs = plan.events()
    alone = {phase: epsilon_of(events, delta) for phase, events in costs.items()}
    return {**alone, "total": epsilon_of([event for events in costs.values() for event in events], delta)}
