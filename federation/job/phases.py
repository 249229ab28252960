"""The phases of a job, their rounds, and what each silo does in them: the same for the plan and for the silo."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from siloseal.federation.errors import WrongRound
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job


class Phase(StrEnum):
    """The parts of a job that end with sums, in their order. A job has phases 1 and 2, or federated averaging."""

    WARM_START = "warm_start"
    PHASE_1 = "phase_1"
    PHASE_2 = "phase_2"
    FEDAVG = "fedavg"


def rounds_of(job: "Job", phase: Phase) -> Sequence[int]:
    """The numbers of the phase's rounds, each of which ends with one sum; 0 alone where a phase has one sum."""
    match phase, job.schedule:
        case Phase.WARM_START, _:
            return (0,) if isinstance(job.warm_start, KernelMeanStart | LeaderStart) else ()
        case Phase.PHASE_1, TwoPhase():
            return (0,)
        case (Phase.PHASE_2, TwoPhase(tuning_rounds=rounds)) | (Phase.FEDAVG, FedAvg(rounds=rounds)):
            return range(1, rounds + 1)
    return ()


def asked_by(job: "Job", phase: Phase, round: int) -> tuple[str, ...]:
    """The silos that the sum of a round asks."""
    if phase is Phase.WARM_START:
        return (job.warm_start.silo,) if isinstance(job.warm_start, LeaderStart) else job.silos.names
    return participants(job, round)


def training_steps(job: "Job", silo: str, units: int) -> dict[Phase, int]:
    """Steps on private data, by phase. Phases without any are left out."""
    steps = dict[Phase, int]()
    if isinstance(job.warm_start, LeaderStart) and job.warm_start.silo == silo:
        steps[Phase.WARM_START] = job.warm_start.steps
    match job.schedule:
        case TwoPhase(local_steps=local_steps, tuning_rounds=rounds, tuning_steps=tuning_steps):
            steps[Phase.PHASE_1] = local_steps
            steps[Phase.PHASE_2] = rounds * tuning_steps
        case FedAvg() as schedule:
            steps[Phase.FEDAVG] = rounds_that_ask(job, silo) * steps_in_a_round(schedule, units)
    return {phase: count for phase, count in steps.items() if count}


def requested_steps(job: "Job", silo: str, units: int, phase: Phase, round: int) -> int:
    """Steps of one training request; the aggregator cannot ask for more, or for other phases."""
    planned = training_steps(job, silo, units)
    match phase, job.schedule:
        case ((Phase.WARM_START | Phase.PHASE_1), _) if phase in planned and round == 0:
            return planned[phase]
        case Phase.PHASE_2, TwoPhase(tuning_steps=steps) if round in rounds_of(job, phase):
            return steps
        case Phase.FEDAVG, FedAvg() as schedule if round in rounds_of(job, phase) and silo in participants(job, round):
            return steps_in_a_round(schedule, units)
    raise WrongRound(f"the job has no training of {silo} in {phase}, round {round}")


def steps_in_a_round(schedule: FedAvg, units: int) -> int:
    """The steps of E passes over the data in Poisson batches of B expected units."""
    return max(1, round(schedule.local_epochs * units / schedule.batch))


def rounds_that_ask(job: "Job", silo: str) -> int:
    """Number of rounds, of phase 2 or of FedAvg, that ask a silo."""
    if not isinstance(job.schedule, FedAvg):
        return len(rounds_of(job, Phase.PHASE_2))
    count = job.schedule.participant_count(len(job.silos.names))
    return _times_chosen(job.seed, job.silos.names, count, job.schedule.rounds).get(silo, 0)


def participants(job: "Job", round: int) -> tuple[str, ...]:
    """The silos that a round asks: all in phase 2; in FedAvg a public random part, the same for all who compute it."""
    silos = job.silos.names
    if not isinstance(job.schedule, FedAvg) or job.schedule.fraction == 1.0:
        return silos
    return _chosen(job.seed, silos, job.schedule.participant_count(len(silos)), round)


@lru_cache(maxsize=1024)
def _chosen(seed: int, silos: tuple[str, ...], count: int, round: int) -> tuple[str, ...]:
    """A random part of the silos; all if there are no more. In a simulation every silo asks for the same."""
    if count == len(silos):
        return silos
    chosen = np.random.default_rng([seed, round]).choice(len(silos), count, replace=False)
    return tuple(silos[index] for index in sorted(chosen))


@lru_cache(maxsize=16)
def _times_chosen(seed: int, silos: tuple[str, ...], count: int, rounds: int) -> Mapping[str, int]:
    return Counter(name for number in range(1, rounds + 1) for name in _chosen(seed, silos, count, number))
