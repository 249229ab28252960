"""The running average of a network in training, which is steadier than the network, and is what leaves a silo."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from siloseal.models.checkpoints import State, part_of, under

Network = TypeVar("Network", bound=nn.Module)


class RunningAverage(Generic[Network]):
    """An average that follows a network step by step; without memory, the network itself."""

    def __init__(self, source: Network, decay: float) -> None:
        self._source, self._decay = source, decay
        self.network = source if decay == 0 else deepcopy(source).requires_grad_(False)
        self._age = 0  # steps since the last restart

    def follow(self) -> None:
        """Follow a step of the source.

        The memory grows with its age, so that after a restart the average follows at once: a tuning round takes about
        ten steps, and at the full decay its average would go a small part of the way.
        """
        self._age += 1
        if self.network is self._source:
            return
        decay = min(self._decay, self._age / (self._age + 9.0))
        with torch.no_grad():
            for average, parameter in zip(self.network.parameters(), self._source.parameters(), strict=True):
                average.lerp_(parameter, 1.0 - decay)

    def restart(self) -> None:
        """Let both go on from the average, as after a sum over silos."""
        self._age = 0
        if self.network is not self._source:
            self._source.load_state_dict(self.network.state_dict())

    def state(self) -> State:
        """The state, for a checkpoint."""
        own = {} if self.network is self._source else under("network", self.network.state_dict())
        return {"age": torch.tensor(self._age), **own}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        self._age = int(state["age"])
        if self.network is not self._source:
            self.network.load_state_dict(part_of("network", state))
