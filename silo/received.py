"""What a silo takes from the aggregator."""

import numpy as np
import torch

from siloseal.federation.errors import MessageError
from siloseal.federation.job.job import Job
from siloseal.federation.job.noise_on_sums import clip_rule
from siloseal.federation.privacy.mechanisms.clipping import LARGEST_NORM, SMALLEST_NORM
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import from_array


def received_clip_norm(job: Job, norm: float) -> float:
    """The clip norm of one round's update: the job's own, unless the job lets it move.

    Whatever it is, the noise is in proportion to it: a clip norm can spoil the average, and not the privacy.
    """
    if clip_rule(job) is None and norm != 0.0:
        raise MessageError(f"a training came with a clip norm of {norm:g}, but the job's does not move")
    if not (norm == 0.0 or SMALLEST_NORM <= norm <= LARGEST_NORM):  # NaN neither
        raise MessageError(
            f"a training came with a clip norm of {norm:g}, expected one from {SMALLEST_NORM:g} to {LARGEST_NORM:g}"
        )
    return norm


def received_model(array: pb.Array, *, length: int, largest: float) -> torch.Tensor:
    """A model from the aggregator. Huge weights are refused: they could be meant to make a network overflow."""
    vector = from_array(array, dtype="<f4", length=length)
    if np.abs(vector).max(initial=0.0) > largest:
        raise MessageError(
            f"a model came with weights above {largest:g}, the job's largest_weight; raise that, or lower the learning "
            "rates"
        )
    return torch.from_numpy(vector.copy())
