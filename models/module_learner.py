"""A learner that shares the network that sees data, as its running average."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from siloseal.models.checkpoints import State, part_of, require_same_shapes, under
from siloseal.models.parts import freeze, require_float32, shared_parameters
from siloseal.models.running_average import RunningAverage
from siloseal.models.vectors import flatten_parameters, load_parameters

M = TypeVar("M", bound=nn.Module)


class ModuleLearner(Generic[M]):
    """Everything of the `Learner` protocol but the losses, which a subclass gives as `row_losses`.

    There is no public part that learns from the network: what is shared is the network itself, as its running average.
    Parameters whose names match `frozen` keep their weights; those that match `local` stay with the silo.

    >>> import torch
    >>> class Halves(siloseal.ModuleLearner):
    ...     def __init__(self, shape, classes, options):
    ...         super().__init__(torch.nn.Linear(shape[0], classes))
    ...     def row_losses(self, rows):
    ...         return (self.private_module(rows.inputs) - 0.5).square().sum(1)
    >>> Halves((3,), 2, {}).vector().shape
    torch.Size([8])
    """

    def __init__(
        self, model: M, *, average_decay: float = 0.0, frozen: Sequence[str] = (), local: Sequence[str] = ()
    ) -> None:
        require_float32(model, type(self).__name__)
        freeze(model, frozen)
        self._model = model
        self._average = RunningAverage(model, average_decay)
        self._frozen, self._local = frozen, local
        self._shared()  # patterns that leave nothing to share are refused here

    def to(self, device: torch.device) -> None:
        """Move the network and its average to a device."""
        self.private_module.to(device)
        self._average.network.to(device)

    @property
    def private_module(self) -> nn.Module:
        """The network that sees data."""
        return self._model

    @property
    def shared_model(self) -> M:
        """The network that leaves the silo."""
        return self._average.network

    def public_step(self) -> None:
        """Let the average follow the network."""
        self._average.follow()

    def public_metrics(self) -> Mapping[str, float]:
        """No metrics: every loss or accuracy here would be measured on private units."""
        return {}

    def vector(self) -> Tensor:
        """The shared parameters, flat."""
        return flatten_parameters(self._shared())

    def load(self, vector: Tensor) -> None:
        """Take over shared parameters."""
        load_parameters(self._shared(), vector)
        self._average.restart()

    def state(self) -> State:
        """The network, with what is the silo's own, and the average."""
        return under("model", self.private_module.state_dict()) | under("average", self._average.state())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        require_same_shapes(state, self.state())
        self.private_module.load_state_dict(part_of("model", state))
        self._average.load_state(part_of("average", state))

    def _shared(self) -> list[nn.Parameter]:
        """The parameters that are sent. They are asked for each time: some devices put others in their place."""
        return shared_parameters(self._average.network, frozen=self._frozen, local=self._local)
