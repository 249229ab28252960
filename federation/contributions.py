"""What travels through the sums of a job: by which scheme, over which domain, and what a total means.

Both sides compute this from the job. A silo compares it with the session that it is asked to join, and refuses any
other: the aggregator cannot talk it into less noise, another scheme or a smaller crowd.
"""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from federation.config.job import Job, TwoPhase
from federation.errors import ConfigError
from federation.mechanism import NoisySum
from federation.mechanisms.gaussian import GaussianAtSilo
from federation.phases import PHASE_1, PHASE_2, WARM_START, sketch_noise
from federation.plain.plain_sum import PlainSum
from federation.secure_sum import SecureSum
from federation.session import RealDomain, Vector
from federation.weighting import mean_of, weighted_domain
from federation.wire import messages_pb2 as pb

COARSEST = 2.0**-5
"""So much may a model's weight be off after a sum: at 0.1 a generator of digits loses accuracy, at 0.4 all of it."""

SKETCH_SENSITIVITY = 1.0
"""One example moves the kernel mean's sum by at most this in L2, because its features have norm at most 1."""


def model_scheme(job: Job, phase: str) -> SecureSum:
    """The sum that averages models in this phase.

    The leader's generator is a sum of one: no scheme can hide it, and it is differentially private on its own.
    """
    if phase == WARM_START:
        return PlainSum()
    if phase == PHASE_2 and isinstance(job.schedule, TwoPhase):
        return job.schedule.tuning_sum.build()
    return job.secure_sum.build()


def model_domain(job: Job, length: int) -> RealDomain:
    """Weighted models of `length` entries."""
    return weighted_domain(length, job.largest_weight)


def require_precision(job: Job, silo: str, examples: int) -> None:
    """`ConfigError` where a sum is too coarse for a silo's model, which travels scaled by its share of largest_silo."""
    sums = {"secure_sum": model_scheme(job, PHASE_1)}
    if isinstance(job.schedule, TwoPhase):
        sums["schedule.tuning_sum"] = model_scheme(job, PHASE_2)
    for where, scheme in sums.items():
        error = scheme.grid(model_domain(job, 1)) / 2 * job.largest_silo / examples
        if error > COARSEST:
            raise ConfigError(
                f"{where}.precision_bits leaves the weights of {silo}'s model uncertain by {error:.2g}, at most "
                f"{COARSEST:g} is useful; raise it by {math.ceil(math.log2(error / COARSEST))}, or lower largest_silo "
                f"({job.largest_silo}) or largest_weight ({job.largest_weight:g})"
            )


def quorum(job: Job, scheme: SecureSum, asked: int) -> int:
    """How many of the silos that a sum asks must stay: as many as the job wants, and as the scheme needs."""
    return max(job.silos.quorum(asked), scheme.fewest(asked))


def sum_id(run_id: bytes, prepared: int) -> bytes:
    """Names the one sum over what this request of the run prepared.

    Silos compute it themselves, and answer no request twice: two sums never have one session, so nothing that was
    signed in one of them can be replayed in the other.
    """
    return hashlib.sha256(b"sum" + run_id + prepared.to_bytes(8, "big")).digest()


def start_of(train: pb.Train) -> bytes:
    """Names the model that a training starts from: part of the session of the sum that follows."""
    return hashlib.sha256(train.model.data).digest()


def to_model(total: Vector) -> NDArray[np.float32]:
    """The weighted average that a sum of models stands for."""
    return mean_of(total).astype("<f4")


def sketch_mechanism(job: Job) -> GaussianAtSilo | None:
    """The noise on the kernel mean; none where privacy is off."""
    noise = sketch_noise(job)
    return None if noise is None else GaussianAtSilo(SKETCH_SENSITIVITY, noise)


def sketch_scheme(job: Job) -> SecureSum:
    """The sum of kernel means, noised at each silo."""
    mechanism, inner = sketch_mechanism(job), job.secure_sum.build()
    return inner if mechanism is None else NoisySum(mechanism, inner)


def sketch_domain(job: Job, length: int) -> RealDomain:
    """A feature is at most 1, so an entry of a silo's sum is at most its number of examples."""
    return RealDomain(length, float(job.largest_silo))
