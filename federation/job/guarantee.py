"""Whom the noise of a job protects, and who must be trusted for that: the words around its numbers."""

from collections.abc import Iterable

from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import fewest_honest
from siloseal.federation.job.phase_sums import noised_sums
from siloseal.federation.job.sections.mechanisms import GaussianCentral, SplitConfig
from siloseal.federation.job.sections.privacy import ExampleLevel, SiloLevel, TaskLevel
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.privacy.guarantee import Guarantee
from siloseal.federation.sums.exposure import NoisedBy

NOISES = {
    "ddg": "discrete Gaussian", "skellam": "Skellam", "binomial": "binomial", "pbm": "Poisson-binomial",
    "pbm_kashin": "Poisson-binomial",
}  # fmt: skip


EXAMPLE_AT_SILO = Guarantee(ExampleLevel.unit, "Gaussian noise, added inside the silo, which trusts nobody else")


def guarantee_of(job: Job) -> Guarantee:
    """The guarantee of a private job that trains."""
    if isinstance(job.privacy, SiloLevel):
        return Guarantee("one silo's whole contribution", _on_sums(job))
    if isinstance(job.privacy, TaskLevel):
        return Guarantee(TaskLevel.unit, EXAMPLE_AT_SILO.noise, public="the numbers of images of each class")
    if isinstance(job.warm_start, KernelMeanStart) and isinstance(job.noise, SplitConfig | GaussianCentral):
        training = "Gaussian noise of the training, added inside the silo; of the kernel mean, "
        return Guarantee(EXAMPLE_AT_SILO.unit, training + _on_sums(job))
    return EXAMPLE_AT_SILO


def _on_sums(job: Job) -> str:
    """The noise on the job's sums, and who is trusted, for the sum that shows most and counts on fewest."""
    noise, sums = job.noise, noised_sums(job)
    if isinstance(noise, SplitConfig):
        return split_noise_words(
            NOISES[noise.kind],
            honest=fewest_honest(job),
            asked=sums[0].asked,
            assumes=[found.config.build().exposure.assumes for found in sums],
        )
    if isinstance(noise, GaussianCentral):
        exposures = [found.config.build().exposure.noised(NoisedBy.AGGREGATOR) for found in sums]
        shows_most = min(exposures, key=lambda exposure: exposure.hides_contributions)
        return (
            f"Gaussian noise, added by the aggregator, which sees {shows_most.aggregator_learns} and is trusted with it"
        )
    return EXAMPLE_AT_SILO.noise


def split_noise_words(kind: str, *, honest: int, asked: int, assumes: Iterable[str]) -> str:
    """The words of a guarantee for noise that silos split, under sums that assume this."""
    words = (
        f"{kind} noise, split over the silos, which trust the aggregator with nothing and count on the noise of "
        f"{honest} honest ones of {asked}"
    )
    return "; its secure sum assumes ".join([words, *dict.fromkeys(filter(None, assumes))])
