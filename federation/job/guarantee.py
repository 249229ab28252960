"""Whom the noise of a job protects, and who must be trusted for that: the words around its numbers."""

from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import honest
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.quorum import quorum_of
from siloseal.federation.job.sections.mechanisms import GaussianCentral, SplitConfig
from siloseal.federation.job.sections.privacy import ExampleLevel, SiloLevel, TaskLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.privacy.guarantee import Guarantee
from siloseal.federation.sums.exposure import NoisedBy

_NAMES = {"ddg": "discrete Gaussian", "skellam": "Skellam", "binomial": "binomial", "pbm": "Poisson-binomial"}


EXAMPLE_AT_SILO = Guarantee(ExampleLevel.unit, "Gaussian noise, added inside the silo, which trusts nobody else")


def guarantee_of(job: Job) -> Guarantee:
    """The guarantee of a private job that trains."""
    if isinstance(job.privacy, SiloLevel):
        asked = job.schedule.participant_count(len(job.silos.names))
        return Guarantee("one silo's whole contribution", _on_sums(job, asked), "there or zeros")
    if isinstance(job.privacy, TaskLevel):
        return Guarantee(TaskLevel.unit, EXAMPLE_AT_SILO.noise, public="the numbers of images of each class")
    if isinstance(job.warm_start, KernelMeanStart) and isinstance(job.noise, SplitConfig | GaussianCentral):
        training = "Gaussian noise of the training, added inside the silo; of the kernel mean, "
        return Guarantee(EXAMPLE_AT_SILO.unit, training + _on_sums(job, len(job.silos.names)))
    return EXAMPLE_AT_SILO


def _on_sums(job: Job, asked: int) -> str:
    noise = job.noise
    if isinstance(noise, SplitConfig):
        counted = honest(job, quorum_of(job, Phase.PHASE_1, asked))
        return (
            f"{_NAMES[noise.kind]} noise, split over the silos, which trust the aggregator with nothing and count on "
            f"the noise of {counted} honest ones of {asked}"
        )
    if isinstance(noise, GaussianCentral):
        return f"Gaussian noise, added by the aggregator, which sees {_seen(job)} and is trusted with it"
    return EXAMPLE_AT_SILO.noise


def _seen(job: Job) -> str:
    """What the aggregator, which noises the sums, learns from the sum that shows most."""
    sums = [job.secure_sum]
    if isinstance(job.privacy, SiloLevel) and isinstance(job.schedule, TwoPhase) and job.schedule.tuning_rounds:
        sums.append(job.schedule.tuning_sum)
    exposures = [config.build().exposure.noised(NoisedBy.AGGREGATOR) for config in sums]
    return min(exposures, key=lambda exposure: exposure.hides_contributions).aggregator_learns
