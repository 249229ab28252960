"""The smallest learner that is trained on real images: audits train it thousands of times."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from siloseal.models.checkpoints import State
from siloseal.models.learner import LabelledRows
from siloseal.models.vectors import flatten, load_flat
from siloseal.silo.data.examples import Examples


class SoftmaxLearner:
    """Softmax regression, which keeps its weights after every step: all of them count as released."""

    def __init__(self, images: Examples) -> None:
        self._network = nn.Linear(images.inputs[0].numel(), images.classes, bias=False)
        nn.init.zeros_(self._network.weight)
        self.released = [self._network.weight.detach().clone()]

    def to(self, device: torch.device) -> None:
        """Move the network to a device."""
        self._network.to(device)

    @property
    def private_module(self) -> nn.Module:
        """The whole network."""
        return self._network

    @property
    def shared_model(self) -> nn.Module:
        """The whole network."""
        return self._network

    def row_losses(self, units: LabelledRows) -> Tensor:
        """Return the cross entropy of each row."""
        return functional.cross_entropy(self._network(units.inputs.flatten(1)), units.labels, reduction="none")

    def public_step(self) -> None:
        """Keep the weights: what a white-box attacker sees of a step."""
        self.released.append(self._network.weight.detach().clone())

    def public_metrics(self) -> Mapping[str, float]:
        """Return no metrics: none are public."""
        return {}

    def vector(self) -> Tensor:
        """Return the weights, flat."""
        return flatten([self._network])

    def load(self, vector: Tensor) -> None:
        """Take over these weights."""
        load_flat([self._network], vector)

    def state(self) -> State:
        """Return the weights."""
        return dict(self._network.state_dict())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Load the weights that `state` returned."""
        self._network.load_state_dict(dict(state))
