"""The noise that a job puts on each of its sums, and the number of silos on which that noise counts.

Both sides compute it from the job, and a silo computes it again before it joins a sum: nobody can talk it into less.
"""

import math
from functools import lru_cache
from typing import assert_never

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import noised_sums, phase_sum
from siloseal.federation.job.phases import Phase, rounds_that_ask
from siloseal.federation.job.sections.mechanisms import (
    Binomial,
    Ddg,
    FixedClip,
    GaussianCentral,
    GaussianLocal,
    MechanismConfig,
    NoNoise,
    Pbm,
    PbmKashin,
    QuantileClip,
    Skellam,
    SplitConfig,
    WindowClip,
)
from siloseal.federation.job.sections.privacy import ExampleLevel, NoPrivacy, SiloLevel
from siloseal.federation.job.sections.schedule import FedAvg, TwoPhase
from siloseal.federation.job.sections.warm_start import KernelMeanStart
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.calibration import Demand, gaussian_multiplier
from siloseal.federation.privacy.mechanisms.clipping import QuantileRule, WindowRule
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtAggregator, GaussianAtSilo
from siloseal.federation.privacy.mechanisms.lattice_calibration import calibrated_lattice
from siloseal.federation.privacy.mechanisms.pbm_calibration import calibrated_pbm, calibrated_pbm_kashin
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain

KERNEL_MEAN_SENSITIVITY = 1.0
"""One example moves the kernel mean's sum by at most this in L2, because its features have norm at most 1."""


def honest(job: Job, remaining: int) -> int:
    """Number of silos whose noise counts, of this many in a sum."""
    return remaining - job.noise.colluding if isinstance(job.noise, SplitConfig) else remaining


def fewest_honest(job: Job) -> int:
    """Number of silos whose noise counts in the noised sum that the fewest silos may end up in."""
    return honest(job, min(found.quorum for found in noised_sums(job)))


@lru_cache(maxsize=16)
def kernel_mean_mechanism(job: Job, domain: RealDomain) -> Mechanism | None:
    """The noise on the kernel mean, for each example; none where privacy is off."""
    if isinstance(job.privacy, NoPrivacy):
        return None
    if not isinstance(job.warm_start, KernelMeanStart) or not isinstance(job.privacy, ExampleLevel):
        raise ConfigError(f"a kernel mean under privacy.kind {job.privacy.kind} has no noise that would protect it")
    found = phase_sum(job, Phase.WARM_START)
    demand = Demand(
        epsilon=job.warm_start.epsilon,
        delta=job.privacy.delta,
        releases=1,
        silos=found.asked,
        honest=fewest_honest(job),
        length=domain.length,
    )
    return mechanism_for(job.noise, demand, KERNEL_MEAN_SENSITIVITY, found.config.build(), domain, whole=False)


@lru_cache(maxsize=16)
def update_mechanism(job: Job, privacy: SiloLevel, phase: Phase, domain: RealDomain) -> Mechanism:
    """The noise on the silos' clipped updates, which are as long as the domain's bound, and reach it at most."""
    found = phase_sum(job, phase)
    demand = Demand(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        releases=_most_updates(job),
        silos=found.asked,
        honest=fewest_honest(job),
        length=domain.length,
    )
    return mechanism_for(job.noise, demand, domain.bound, found.config.build(), domain, whole=True)


def mechanism_for(
    noise: MechanismConfig | NoNoise,
    demand: Demand,
    sensitivity: float,
    inner: SecureSum,
    domain: RealDomain,
    *,
    whole: bool,
) -> Mechanism:
    """The mechanism for a whole vector, clipped to its sensitivity; or for a part of one, up to `domain.bound`."""
    match noise:
        case GaussianLocal():
            return GaussianAtSilo(sensitivity, gaussian_multiplier(demand), whole)
        case GaussianCentral():
            # The sum below rounds each entry to its grid, or to single precision, which may lengthen a vector.
            rounding = math.sqrt(demand.length) * inner.grid(domain) + domain.bound * 2.0**-22
            if rounding > 0.1 * sensitivity:
                raise ConfigError(
                    f"the sum below gaussian_central rounds {demand.length} entries by up to {rounding:.2g} together, "
                    f"which is much beside the {sensitivity:g} that the noise hides; raise its precision_bits by "
                    f"{math.ceil(math.log2(rounding / (0.1 * sensitivity)))}, or lower largest_silo"
                )
            clip_norm = sensitivity if whole else None
            return GaussianAtAggregator(clip_norm, sensitivity + rounding, gaussian_multiplier(demand))
        case Ddg(kind=kind, bits=bits) | Skellam(kind=kind, bits=bits) | Binomial(kind=kind, bits=bits):
            reach = None if whole else domain.bound * demand.silos
            return calibrated_lattice(
                kind,
                demand,
                bits=bits,
                sensitivity=sensitivity,
                whole=whole,
                reach=reach,
                wraps=inner.sums_modulo,
            )
        case Pbm(bits=bits):
            return calibrated_pbm(demand, bits=bits, clip_norm=sensitivity)
        case PbmKashin(bits=bits):
            return calibrated_pbm_kashin(demand, bits=bits, clip_norm=sensitivity)
        case NoNoise():
            raise AssertionError("a private job without noise is refused when it is loaded")
        case _:
            assert_never(noise)


def clip_rule(job: Job) -> QuantileRule | WindowRule | None:
    """How the clip norm of updates moves from round to round; None where it stays."""
    match job.noise.clipping:
        case QuantileClip(quantile=quantile, learning_rate=rate, share=share):
            return QuantileRule(quantile, rate, share)
        case WindowClip(window=window, factor=factor):
            return WindowRule(window, factor)
        case FixedClip():
            return None


def protected_norm(job: Job, clip_norm: float) -> float:
    """The norm of what a silo contributes: its clipped update, and the entry that a quantile rule adds."""
    rule = clip_rule(job)
    return rule.protected_norm(clip_norm) if isinstance(rule, QuantileRule) else clip_norm


def extra_entries(job: Job) -> int:
    """Number of entries of a contribution besides the update."""
    return int(isinstance(clip_rule(job), QuantileRule))


def _most_updates(job: Job) -> int:
    """Number of sums of updates that the busiest silo takes part in."""
    match job.schedule:
        case TwoPhase(tuning_rounds=rounds):
            return 1 + rounds
        case FedAvg():
            # Everyone can compute whom a round asks, so that asking only a part of the silos hides nobody: a round
            # that asks a silo costs it in full, without amplification.
            return max(rounds_that_ask(job, silo) for silo in job.silos.names)
