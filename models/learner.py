"""What a trainer needs to know of a model, and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from siloseal.models.checkpoints import State
from siloseal.models.meta.tasks import Task


class LabelledRows(Protocol):
    """A batch of examples, as a learner meets it. It may be empty, because a Poisson sample may be.

    >>> def mean_squares(rows: siloseal.LabelledRows):
    ...     return rows.inputs.square().flatten(1).mean(1)
    """

    @property
    def inputs(self) -> Tensor:
        """The inputs (rows, ...), float32."""

    @property
    def labels(self) -> Tensor:
        """What is to be learnt of each row: int64 class numbers (rows, ...), or measured targets in float32."""


class Rows(NamedTuple):
    """A batch of examples as two tensors, whose first dimension counts the rows."""

    inputs: Tensor
    labels: Tensor


class Learner(Protocol):
    """A model in two parts: one that sees private units, and one that learns from the first alone.

    All that private data does, it does through the gradient that the trainer clips and noises, unit by unit. How the
    gradient of one unit is told from the others' is what the two kinds of learners below differ in.

    >>> def size(learner: siloseal.Learner):
    ...     return len(learner.vector())
    """

    def to(self, device: torch.device) -> object:
        """Move every network to a device, where the trainer then gives it data. What it returns does not matter."""

    @property
    def private_module(self) -> nn.Module:
        """The network that sees data. The trainer alone changes its parameters."""

    def public_step(self) -> None:
        """Take the step that follows from the private module's without another look at data: post-processing."""

    def public_metrics(self) -> Mapping[str, float]:
        """Numbers that may be shown and logged, because no private unit entered them except through the noise."""

    @property
    def shared_model(self) -> nn.Module:
        """The network that leaves the silo."""

    def vector(self) -> Tensor:
        """The shared part as one flat float32 vector."""

    def load(self, vector: Tensor) -> None:
        """Take over a shared part, as after a sum over silos."""

    def state(self) -> State:
        """Everything that a crash would lose, as copies under names that safetensors can store."""

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`; raises RunError for a state of another job."""


@runtime_checkable
class ExampleLearner(Learner, Protocol):
    """A learner whose unit of privacy is one example. A class of your own has these methods, or is a `ModuleLearner`.

    >>> import torch
    >>> isinstance(torch.nn.Linear(2, 2), siloseal.ExampleLearner)
    False
    """

    def row_losses(self, rows: LabelledRows) -> Tensor:
        """The losses (rows,), one a row. A unit influences its own row and no other.

        Only the built-in GAN has rows beyond the units', its fakes, which depend neither on them nor on their number.
        """


@runtime_checkable
class TaskLearner(Learner, Protocol):
    """A learner whose unit of privacy is one task."""

    def task_gradients(self, tasks: Sequence[Task]) -> Iterator[Tensor]:
        """One gradient a task, flat, in the order of the trainable parameters. No task influences another's."""
