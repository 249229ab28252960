"""What each silo does in each phase of a job: the same computation for the plan and for the silo."""

import numpy as np

from siloseal.federation.errors import WrongRound
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import LeaderStart

WARM_START, PHASE_1, PHASE_2, FEDAVG = "warm_start", "phase_1", "phase_2", "fedavg"


def training_steps(job: Job, silo: str, units: int) -> dict[str, int]:
    """Steps on private data, by phase. Phases without any are left out."""
    steps = dict[str, int]()
    if isinstance(job.warm_start, LeaderStart) and job.warm_start.silo == silo:
        steps[WARM_START] = job.warm_start.steps
    match job.schedule:
        case TwoPhase(local_steps=local_steps, tuning_rounds=rounds, tuning_steps=tuning_steps):
            steps[PHASE_1] = local_steps
            steps[PHASE_2] = rounds * tuning_steps
        case FedAvg(rounds=rounds) as schedule:
            joined = sum(silo in participants(job, number) for number in range(1, rounds + 1))
            steps[FEDAVG] = joined * steps_in_a_round(schedule, units)
    return {phase: count for phase, count in steps.items() if count}


def requested_steps(job: Job, silo: str, units: int, phase: str, round: int) -> int:
    """How many steps the job has in one training request; the aggregator cannot ask for more, or for other phases."""
    planned = training_steps(job, silo, units)
    match phase, job.schedule:
        case (("warm_start" | "phase_1"), _) if phase in planned and round == 0:
            return planned[phase]
        case "phase_2", TwoPhase(tuning_rounds=rounds, tuning_steps=steps) if 1 <= round <= rounds:
            return steps
        case "fedavg", FedAvg(rounds=rounds) as schedule if 1 <= round <= rounds and silo in participants(job, round):
            return steps_in_a_round(schedule, units)
    raise WrongRound(f"the job has no training of {silo} in {phase}, round {round}")


def steps_in_a_round(schedule: FedAvg, units: int) -> int:
    """E passes over the data in Poisson batches of B expected units."""
    return max(1, round(schedule.local_epochs * units / schedule.batch))


def participants(job: Job, round: int) -> tuple[str, ...]:
    """Who a round asks: everyone in phase 2; in FedAvg a public random part, the same for all who compute it."""
    silos = job.silos.names
    if not isinstance(job.schedule, FedAvg) or job.schedule.fraction == 1.0:
        return silos
    count = job.schedule.crowd(len(silos))
    chosen = np.random.default_rng([job.seed, round]).choice(len(silos), count, replace=False)
    return tuple(silos[index] for index in sorted(chosen))
