"""What a trainer needs to know of a model, and nothing else."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from torch import Tensor, nn

from models.checkpoints import State

Units = TypeVar("Units", contravariant=True)


class Learner(Protocol[Units]):
    """A model in two parts: one that sees private units, and one that learns from the first alone.

    The unit of privacy is one element of `Units`: an example for a GAN. A unit may influence its own row of
    `row_losses` and no other, and nothing else of the learner: all that private data does, it does through the
    gradient that the trainer clips and noises.
    """

    @property
    def private_module(self) -> nn.Module:
        """The network that sees data. The trainer alone changes its parameters."""

    def row_losses(self, units: Units) -> Tensor:
        """(rows,): one loss a row. Rows beyond the units (a GAN's fakes) depend neither on them nor on their number."""

    def public_step(self) -> None:
        """What follows from the private module's step without another look at data: post-processing."""

    def public_metrics(self) -> Mapping[str, float]:
        """Numbers that may be shown and logged, because no private unit entered them except through the noise."""

    def vector(self) -> Tensor:
        """The shared part as one flat float32 vector."""

    def load(self, vector: Tensor) -> None:
        """Take over a shared part, as after a sum over silos."""

    def state(self) -> State:
        """Everything that a crash would lose, as copies under names that safetensors can store."""

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`; raises RunError for a state of another job."""
