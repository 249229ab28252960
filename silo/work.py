"""What a kind of job does at a silo between two sums; the runtime around it is the same for all kinds."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.job.releases import Release, Run
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.silo.state import Checkpoint


class Checkpoints(Protocol):
    """The silo's checkpoints, as its work sees them."""

    @property
    def at(self) -> Checkpoint:
        """The last checkpoint."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint to the disk, with the work's own state and the number of charges so far."""


class SiloWork(Protocol):
    """One silo's work in one job: training, queries or averages."""

    def describe(self, enrolled: pb.Enrolled) -> None:
        """Add what everyone must agree on about the data: the shape of an example and the number of classes."""

    def prepare(self, request: pb.Request, checkpoints: Checkpoints, run: Run) -> pb.Prepared:
        """Do what a request asks for, so that a sum can follow; a typed error for what the job does not say."""

    def release(self, at: Checkpoint) -> Release:
        """The release that what was prepared may go into, and no other."""

    def vector(self, at: Checkpoint) -> NDArray[np.float64]:
        """The contribution to the release, noise not included."""

    def finish(self, request: pb.Finish) -> None:
        """Keep the outcome of the job."""

    def state(self) -> dict[str, Tensor]:
        """The state of the work that a checkpoint keeps."""

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what a checkpoint kept; from the beginning, where there was none and nothing is given."""
