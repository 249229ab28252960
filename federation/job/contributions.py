"""What travels through the sums of a job: by which scheme, over which domain, and what a total means.

Both sides compute this from the job. A silo compares it with the session that it is asked to join, and refuses any
other: the aggregator cannot talk it into less noise, another scheme or a smaller crowd.
"""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError, WrongRound
from siloseal.federation.job.agreement import statement
from siloseal.federation.job.beacon import BEACON_BYTES
from siloseal.federation.job.job import Job
from siloseal.federation.job.phases import PHASE_1, PHASE_2, WARM_START
from siloseal.federation.job.protection import (
    clip_rule,
    extra_entries,
    inner_sum,
    protected_norm,
    sketch_mechanism,
    update_mechanism,
)
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.sections.schedule import TwoPhase
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain
from siloseal.federation.privacy.mechanisms.clipping import QuantileRule, clip
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secure_sum import SecureSum, Sum
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import messages_pb2 as pb

COARSEST = 2.0**-5
"""So much may a model's weight be off after a sum: at 0.1 a generator of digits loses accuracy, at 0.4 all of it."""

COARSEST_FEW_SHOT = 2.0**-10
"""The same for few-shot models, whose smallest weights, those of gates, begin at a hundredth."""


def model_scheme(job: Job, phase: str, length: int, clip_norm: float = 0.0) -> SecureSum:
    """The sum that averages models of this length in this phase, noised under silo-level privacy.

    The leader's generator is a sum of one: no scheme can hide it, and it is differentially private on its own.
    """
    if phase == WARM_START:
        return PlainSum()
    inner = inner_sum(job, phase)
    if not isinstance(job.privacy, SiloLevel):
        return inner
    entries, norm = length + extra_entries(job), clip_norm or job.privacy.clip_norm
    return NoisySum(update_mechanism(job, job.privacy, phase, entries, norm), inner)


def model_domain(job: Job, length: int, clip_norm: float = 0.0) -> RealDomain:
    """Weighted models of `length` entries; or clipped updates, and with them what a clip rule asks for."""
    if isinstance(job.privacy, SiloLevel):
        return RealDomain(length + extra_entries(job), protected_norm(job, clip_norm or job.privacy.clip_norm))
    return weighted_domain(length, job.largest_weight)


def model_contribution(
    job: Job, model: NDArray[np.float64], start: NDArray[np.float64], *, units: int, clip_norm: float = 0.0
) -> NDArray[np.float64]:
    """What a silo of so many units contributes, noise not included."""
    if not isinstance(job.privacy, SiloLevel):
        return weigh(model, weight=units * job.images_a_unit, largest=job.largest_silo)
    rule, norm = clip_rule(job), clip_norm or job.privacy.clip_norm
    update = model - start
    return rule.extend(update, norm) if isinstance(rule, QuantileRule) else clip(update, norm)


def to_model(job: Job, summed: Sum, start: NDArray[np.float32]) -> NDArray[np.float32]:
    """The average that a sum stands for: of models, weighted by size; or of updates of one start, all silos alike."""
    if not isinstance(job.privacy, SiloLevel):
        return mean_of(summed.total).astype("<f4")
    return (start + summed.total[: start.size] / len(summed.contributors)).astype("<f4")


def require_precision(job: Job, silo: str, units: int) -> None:
    """`ConfigError` where a sum is too coarse for a silo's model, which travels scaled by its share of largest_silo."""
    if isinstance(job.privacy, SiloLevel):
        return  # silos count alike, whatever they hold
    coarsest = COARSEST if isinstance(job.learner, GanConfig) else COARSEST_FEW_SHOT
    sums = {"secure_sum": inner_sum(job, PHASE_1)}
    if isinstance(job.schedule, TwoPhase):
        sums["schedule.tuning_sum"] = inner_sum(job, PHASE_2)
    for where, scheme in sums.items():
        error = scheme.grid(model_domain(job, 1)) / 2 * job.largest_silo / (units * job.images_a_unit)
        if error > coarsest:
            raise ConfigError(
                f"{where}.precision_bits leaves the weights of {silo}'s model uncertain by {error:.2g}, at most "
                f"{coarsest:g} is useful; raise it by {math.ceil(math.log2(error / coarsest))}, or lower largest_silo "
                f"({job.largest_silo}) or largest_weight ({job.largest_weight:g})"
            )


def sum_id(beacon: bytes, phase: str, round: int) -> bytes:
    """The id of the one sum over what this phase, or this round of it, prepares.

    Silos compute it themselves, and prepare nothing twice: two sums never have one session, so nothing that was signed
    in one of them can be replayed in the other. The beacon hashes a nonce of every silo, and the phases and rounds are
    the job's. So nobody can try out ids, as one could with the numbers of requests, which may leave out some, or with
    anything else that the aggregator says once it knows the nonces.
    """
    if len(beacon) != BEACON_BYTES:
        raise WrongRound("sums have no id before this party has everyone's nonce; begin another run")
    return statement("a sum of a run", beacon, phase.encode(), round.to_bytes(8, "little"))


def start_of(train: pb.Train) -> bytes:
    """Names the model that a training starts from: part of the session of the sum that follows."""
    return hashlib.sha256(train.model.data).digest()


def sketch_scheme(job: Job, length: int) -> SecureSum:
    """The sum of kernel means of this length, noised where privacy is on."""
    mechanism, inner = sketch_mechanism(job, length), job.secure_sum.build()
    return inner if mechanism is None else NoisySum(mechanism, inner)


def sketch_domain(job: Job, length: int) -> RealDomain:
    """A feature is at most 1, so an entry of a silo's sum is at most its number of examples."""
    return RealDomain(length, float(job.largest_silo))
