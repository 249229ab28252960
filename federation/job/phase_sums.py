"""The sums of a job, phase by phase, before any vector is known: by which scheme, among how many, how many must stay.

Releases, policy, plan, guarantee, and the checks of a job itself ask this list, so that all of them speak of the sums
that the job has, and of no others. Nothing is calibrated here: a policy can refuse a job before any noise is computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from siloseal.federation.job.phases import Phase, asked_by, rounds_of
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.sections.silos import Silos
from siloseal.federation.job.sections.warm_start import KernelMeanStart, LeaderStart
from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.plain.config import PlainSumConfig

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job


@dataclass(frozen=True)
class PhaseSum:
    """What all sums of a phase have in common, whichever round they end."""

    phase: Phase
    section: str
    """Key of the job's section that chooses the scheme."""
    config: SecureSumConfig
    asked: int
    """Number of silos that one of its sums asks."""
    silos: Silos

    @property
    def quorum(self) -> int:
        """Number of the asked silos that must stay; `DomainError` where the scheme does not admit so few."""
        return quorum_of(self.silos, self.config, self.asked)


def phase_sums(job: "Job") -> Iterator[PhaseSum]:
    """The sums of each phase that the job has, in order."""
    return (phase_sum(job, phase) for phase in Phase if rounds_of(job, phase))


def phase_sum(job: "Job", phase: Phase) -> PhaseSum:
    """The sums of this phase, which must have rounds."""
    section, config = _section(job, phase)
    asked = len(asked_by(job, phase, rounds_of(job, phase)[0]))
    return PhaseSum(phase, section, config, asked, job.silos)


def noised_sums(job: "Job") -> list[PhaseSum]:
    """The sums that a mechanism noises: those of updates under silo-level privacy, else that of the kernel mean."""
    updates, kernel_mean = isinstance(job.privacy, SiloLevel), isinstance(job.warm_start, KernelMeanStart)
    return [found for found in phase_sums(job) if (kernel_mean if found.phase is Phase.WARM_START else updates)]


def quorum_of(silos: Silos, config: SecureSumConfig, asked: int) -> int:
    """Number of the asked silos that must stay: as many as the job wants, and as the sum needs."""
    return max(silos.quorum(asked), config.build().fewest(asked))


def _section(job: "Job", phase: Phase) -> tuple[str, SecureSumConfig]:
    if phase is Phase.WARM_START and isinstance(job.warm_start, LeaderStart):
        # A sum of one: no scheme can hide it, and it is differentially private on its own.
        return "warm_start", PlainSumConfig(kind="plain")
    if phase is Phase.PHASE_2 and isinstance(job.schedule, TwoPhase):
        return "schedule.tuning_sum", job.schedule.tuning_sum
    return "secure_sum", job.secure_sum
