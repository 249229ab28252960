"""The noise that goes with each guarantee: what a job must not combine."""

from typing import TYPE_CHECKING, Protocol

from siloseal.federation.job.phase_sums import noised_sums
from siloseal.federation.job.sections.mechanisms import FixedClip, GaussianCentral, NoNoise, Pbm, PbmKashin, SplitConfig
from siloseal.federation.job.sections.privacy import NoPrivacy, SiloLevel
from siloseal.federation.job.sections.warm_start import ColdStart, KernelMeanStart, PublicStart
from siloseal.federation.privacy.epsilon import delta_text
from siloseal.federation.sums.config import SecureSumConfig, kinds_where

if TYPE_CHECKING:
    from siloseal.federation.job.job import Job


def require_fitting_noise(job: "Job") -> None:
    """`ValueError` where mechanism, privacy, warm start and sums do not go together."""
    noise, private = job.noise, not isinstance(job.privacy, NoPrivacy)
    silo_level, kernel_mean = isinstance(job.privacy, SiloLevel), isinstance(job.warm_start, KernelMeanStart)
    if not private and not isinstance(noise, NoNoise):
        raise ValueError(f"mechanism.kind is {noise.kind}, but privacy.kind is none; choose a privacy, or no mechanism")
    if silo_level and job.mechanism is None:
        raise ValueError("privacy.kind is silo_level, which noises updates by a mechanism; name one (mechanism.kind)")
    if private and isinstance(noise, NoNoise):
        raise ValueError("mechanism.kind is none, but privacy is on; choose a mechanism, or privacy: {kind: none}")
    if silo_level and not isinstance(job.warm_start, ColdStart | PublicStart):
        raise ValueError(
            f"warm_start.kind is {job.warm_start.kind}, which releases something of its own that silo_level does not "
            "cover; choose public or none"
        )
    if isinstance(job.privacy, SiloLevel) and job.privacy.delta * len(job.silos.names) >= 1:
        raise ValueError(
            f"privacy.delta is {delta_text(job.privacy.delta)}, but it must be less than 1 / the number of silos"
        )
    if silo_level and job.evaluation.silo_alone:
        raise ValueError(
            "evaluation.silo_alone is true, but under privacy.kind silo_level a silo's own model is not noised, and "
            "must not be shown; set it to false"
        )
    if job.mechanism is not None and private and not (silo_level or kernel_mean):
        raise ValueError(
            "mechanism noises the kernel mean (warm_start) or, under privacy.kind silo_level, the updates; this job "
            "has neither: leave it out"
        )
    if not silo_level and not isinstance(noise.clipping, FixedClip):
        raise ValueError(
            f"mechanism.clipping is {noise.clipping.kind}, but only updates under silo_level are clipped so"
        )
    if kernel_mean and isinstance(noise, Pbm | PbmKashin):
        raise ValueError(
            f"mechanism.kind is {noise.kind}, which protects whole vectors only, but the kernel mean protects single "
            "examples; choose skellam or ddg"
        )
    for found in noised_sums(job):
        if isinstance(noise, GaussianCentral):
            _require_noised_first(found.config)
        if isinstance(noise, SplitConfig):
            require_hidden_parts(found.config, found.section, noise, asked=found.asked)


def _require_noised_first(config: SecureSumConfig) -> None:
    """Refuse noise of the aggregator's where silos have seen the sum before it is added."""
    exposure = config.build().exposure
    if exposure.shows_silos_the_exact_sum:
        raise ValueError(
            "mechanism.kind is gaussian_central, which noises the sum at the aggregator, but under "
            f"{config.kind} a silo learns: {exposure.silo_learns}; choose another sum"
        )


class NoiseInParts(Protocol):
    """Noise of which each silo adds a part."""

    @property
    def kind(self) -> str:
        """Name of the mechanism."""

    @property
    def colluding(self) -> int:
        """Number of silos whose part does not count, because they may tell it to the aggregator."""


def require_hidden_parts(config: SecureSumConfig, section: str, noise: NoiseInParts, *, asked: int) -> None:
    """Refuse a sum that shows a silo's part of split noise: each part alone is too little."""
    exposure = config.build().exposure
    if not exposure.hides_split_noise:
        learns = f"the aggregator learns {exposure.aggregator_learns}"
        why = f"which assumes {exposure.assumes}" if exposure.hides_contributions else f"under which {learns}"
        raise ValueError(
            f"mechanism.kind is {noise.kind}, which splits the noise over the silos, but {section}.kind is "
            f"{config.kind}, {why}; choose {kinds_where(lambda scheme: scheme.exposure.hides_split_noise)}"
        )
    if noise.colluding > (most := exposure.may_collude(asked)):
        raise ValueError(
            f"mechanism.colluding is {noise.colluding}, but among {asked} silos {section}.kind {config.kind} hides a "
            f"silo's part from the aggregator and at most {most} of the others; lower it, raise the threshold, or take "
            "another sum"
        )
