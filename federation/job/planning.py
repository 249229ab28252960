"""What a job costs each silo, before anything runs: the same computation for the plan and for the silo."""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase, rounds_of, rounds_that_ask, training_steps
from siloseal.federation.job.releases import Lengths, Release, release_of
from siloseal.federation.job.sections.privacy import UnitLevel
from siloseal.federation.privacy.accounting import Counted, counted, epsilon_of
from siloseal.federation.privacy.epsilon import delta_text, epsilon_text
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.privacy.least_noise import smallest_noise


@dataclass(frozen=True)
class SiloPlan:
    """One silo's share of a job. Noise is None where there is none in the steps.

    >>> north = siloseal.plan(siloseal.load_job("job.yaml")).silos[0].plan
    >>> round(north.sampling_rate, 2), north.steps["phase_1"]
    (0.1, 3)
    """

    sampling_rate: float
    step_noise: float | None
    """Noise multiplier of every training step, in all phases."""
    steps: dict[Phase, int]
    """Training steps by phase, in order."""
    releases: dict[str, list[Event]] = field(default_factory=dict)
    """Cost of the releases that are noised themselves, by phase: the kernel mean, or each round's update."""

    def events(self) -> dict[str, list[Event]]:
        """The events that the ledger will be charged with, by phase."""
        costs = {phase: list(events) for phase, events in self.releases.items()}
        if self.step_noise is not None:
            for phase, steps in self.steps.items():
                costs.setdefault(phase, []).append(SampledGaussianSteps(self.sampling_rate, self.step_noise, steps))
        return costs


def plan_silo(job: Job, silo: str, units: int, lengths: Lengths, *, examples: int | None = None) -> SiloPlan:
    """Steps, sampling rate, and the least noise with which all phases together stay within the job's epsilon.

    `examples` are those that the silo holds; by default as many as its units have on average.
    """
    if units * job.examples_a_unit > job.largest_silo:
        raise ConfigError(f"{silo} holds more examples than largest_silo, {job.largest_silo}; raise it in the job")
    if isinstance(job.privacy, UnitLevel):
        _require_small_delta(job.privacy.delta, silo, units * job.examples_a_unit if examples is None else examples)
    rate = min(1.0, job.schedule.batch / units)
    bare = SiloPlan(rate, None, training_steps(job, silo, units), costs_of(job, silo, lengths))
    return _with_step_noise(bare, job.privacy, silo) if isinstance(job.privacy, UnitLevel) else bare


def costs_of(job: Job, silo: str, lengths: Lengths) -> dict[str, list[Event]]:
    """The costs of the releases that this silo takes part in, by phase; those without an own cost are left out."""
    costs = dict[str, list[Event]]()
    for phase in Phase:
        if not (rounds := rounds_of(job, phase)):
            continue
        first = release_of(job, lengths, phase, rounds[0])  # all of a phase cost the same
        if first.event is not None and (joined := _joined(job, silo, first, len(rounds))):
            costs[phase] = [first.event] * joined
    return costs


def _joined(job: Job, silo: str, first: Release, releases: int) -> int:
    """Number of a phase's releases that ask the silo."""
    if first.phase in (Phase.PHASE_2, Phase.FEDAVG):
        return rounds_that_ask(job, silo)
    return releases if silo in first.roster else 0


def _require_small_delta(delta: float, silo: str, examples: int) -> None:
    if delta * examples >= 1:
        below = float(f"{0.94 / examples:.2g}")
        raise ConfigError(
            f"privacy.delta is {delta_text(delta)}, but {silo} holds {examples} examples: a delta of 1 / examples or "
            f"more lets a mechanism publish somebody's example outright; use less than 1 / {examples}, "
            f"such as {delta_text(below)}"
        )


def _with_step_noise(bare: SiloPlan, privacy: UnitLevel, silo: str) -> SiloPlan:
    epsilon, delta, reserve = privacy.epsilon, privacy.delta, privacy.reserve_steps
    in_all, released = sum(bare.steps.values()), [event for events in bare.releases.values() for event in events]
    if in_all == 0:
        return bare

    def cost_at(noise: float) -> float:
        return epsilon_of([*released, SampledGaussianSteps(bare.sampling_rate, noise, in_all + reserve)], delta)

    noise = privacy.noise_multiplier
    if noise is None:
        noise = _step_noise(tuple(released), bare.sampling_rate, in_all + reserve, epsilon, delta)
    elif not (cost := cost_at(noise)) <= epsilon:
        start = " and its warm start" if released else ""
        raise ConfigError(
            f"privacy.noise_multiplier is {noise:g}, with which {silo}'s {in_all + reserve} steps{start} "
            f"cost epsilon {epsilon_text(cost)}, but privacy.epsilon is {epsilon:g}; raise one of them, or take fewer "
            "steps"
        )
    return replace(bare, step_noise=noise)


@lru_cache(maxsize=1024)
def _step_noise(released: tuple[Event, ...], rate: float, steps: int, epsilon: float, delta: float) -> float:
    """The least noise of the steps, cached: it takes a third of a second, and many silos have the same size.

    What is enough at the rate in two digits, which still more of them have, says where to begin.
    """
    rough = _in_two_digits(rate)
    enough = None if rough == rate else _step_noise(released, rough, steps, epsilon, delta)
    return smallest_noise(
        lambda noise: [*released, SampledGaussianSteps(rate, noise, steps)],
        epsilon=epsilon,
        delta=delta,
        enough=enough,
    )


def _in_two_digits(rate: float) -> float:
    """The sampling rate, rounded up, which costs no less: epsilon grows with the rate."""
    places = 1 - math.floor(math.log10(rate))
    return min(1.0, math.ceil(rate * 10.0**places - 1e-9) / 10.0**places)


def epsilon_by_phase(plan: SiloPlan, delta: float) -> dict[str, float]:
    """Each phase's epsilon alone, and `total`, which is less than their sum."""
    costs = plan.events()
    alone = {phase: epsilon_of(events, delta) for phase, events in costs.items()}
    return {**alone, "total": counted_in_all(plan, delta).epsilon}


def counted_in_all(plan: SiloPlan, delta: float) -> Counted:
    """What all phases cost together, and how that was counted."""
    return counted([event for events in plan.events().values() for event in events], delta)
