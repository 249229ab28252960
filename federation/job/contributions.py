"""What a silo contributes to the sums of a training job, and what a total means."""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import clip_rule
from siloseal.federation.job.phase_sums import phase_sums
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.sections.privacy import SiloLevel
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain
from siloseal.federation.privacy.mechanisms.clipping import QuantileRule, clip
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.wire import messages_pb2 as pb


def model_contribution(
    job: Job, model: NDArray[np.float64], start: NDArray[np.float64], *, units: int, clip_norm: float = 0.0
) -> NDArray[np.float64]:
    """The contribution of a silo with this many units, noise not included."""
    if not isinstance(job.privacy, SiloLevel):
        return weigh(model, weight=units * job.examples_a_unit, largest=job.largest_silo)
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
    coarsest = job.learner.coarsest
    for found in phase_sums(job):
        if found.phase is Phase.WARM_START:
            continue  # a kernel mean is rounded beside its noise, and a leader's model travels as it is
        grid = found.config.build().grid(weighted_domain(1, job.largest_weight))
        error = grid / 2 * job.largest_silo / (units * job.examples_a_unit)
        if error > coarsest:
            raise ConfigError(
                f"{found.section}.precision_bits leaves the weights of {silo}'s model uncertain by {error:.2g}, at "
                f"most {coarsest:g} is useful; raise it by {math.ceil(math.log2(error / coarsest))}, or lower "
                f"largest_silo ({job.largest_silo}) or largest_weight ({job.largest_weight:g})"
            )


def start_of(train: pb.Train) -> bytes:
    """A digest of the model that a training starts from: part of the session of the sum that follows."""
    return hashlib.sha256(train.model.data).digest()
