"""The sum that a phase of a job uses, and the number of silos that must stay in it."""

from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.sections.warm_start import LeaderStart
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.federation.sums.secure_sum import SecureSum


def sum_config(job: Job, phase: Phase) -> SecureSumConfig:
    """The section of the job that names the sum of this phase."""
    if phase is Phase.WARM_START and isinstance(job.warm_start, LeaderStart):
        return PlainSumConfig(kind="plain")  # a sum of one: no scheme can hide it, and it is private on its own
    if phase is Phase.PHASE_2 and isinstance(job.schedule, TwoPhase):
        return job.schedule.tuning_sum
    return job.secure_sum


def sum_of(job: Job, phase: Phase) -> SecureSum:
    """The sum of this phase, noise aside."""
    return sum_config(job, phase).build()


def quorum_of(job: Job, phase: Phase, asked: int) -> int:
    """Number of the asked silos that must stay: as many as the job wants, and as the sum needs."""
    return max(job.silos.quorum(asked), sum_of(job, phase).fewest(asked))
