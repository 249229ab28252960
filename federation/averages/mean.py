"""A weighted average as the aggregator opened it: as a message, and back from one that may be hostile."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.averages.config import AverageJob
from siloseal.federation.errors import MessageError, WrongContributors
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import from_array, to_array


@dataclass(frozen=True, eq=False)
class Mean:
    """One average, the same at every silo."""

    round: int
    """Number of the average, from 0."""
    values: NDArray[np.float32]
    contributors: tuple[str, ...]
    error_bound: float
    """Largest error of a value."""

    def to_wire(self) -> pb.Mean:
        """The average as a message."""
        return pb.Mean(
            round=self.round,
            values=to_array(self.values),
            contributors=self.contributors,
            error_bound=self.error_bound,
        )

    @classmethod
    def from_wire(cls, job: AverageJob, wire: pb.Mean) -> Self:
        """The average in a message of the aggregator, if the job can have such a one."""
        length = wire.values.shape[0] if wire.values.shape else 0
        values = from_array(wire.values, dtype="<f4", length=length)
        # Single precision may round a value up that stands at the bound. In double precision, that much is let through.
        if float(np.abs(values).max(initial=0.0)) > job.largest_weight * (1 + 2.0**-23):
            raise MessageError(
                f"an average came with values above {job.largest_weight:g}, the job's largest_weight, which no average "
                "of smaller ones has"
            )
        if not 0 <= wire.error_bound < math.inf:  # NaN neither
            raise MessageError(f"an average came with an error bound of {wire.error_bound}, expected a number from 0")
        names = tuple(wire.contributors)
        if len(set(names)) != len(names) or not set(names) <= set(job.silos.names) or len(names) < job.quorum:
            raise WrongContributors(
                f"an average came of {', '.join(names) or 'nobody'}, expected {job.quorum} or more of "
                f"{', '.join(job.silos.names)}"
            )
        return cls(wire.round, values, names, wire.error_bound)
