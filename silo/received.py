"""What a silo takes from the aggregator."""

import numpy as np
import torch

from federation.errors import MessageError
from federation.wire import messages_pb2 as pb
from federation.wire.codec import from_array


def received_model(array: pb.Array, *, length: int, largest: float) -> torch.Tensor:
    """A model from the aggregator. Huge weights are refused: they could be meant to make a network overflow."""
    vector = from_array(array, dtype="<f4", length=length)
    if np.abs(vector).max(initial=0.0) > largest:
        raise MessageError(
            f"a model came with weights above {largest:g}, the job's largest_weight; raise that, or lower the learning "
            "rates"
        )
    return torch.from_numpy(vector.copy())
