"""FedProx's proximal term: a pull to the model that a round's training began with."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from siloseal.models.checkpoints import State, require_same_shapes


class ProximalTerm:
    """The gradient of mu / 2 |w - w_start|^2, which is added to a noisy, scaled gradient (Li et al. 2020).

    It looks at parameters and at no data, and comes after the noise: post-processing, which costs nothing.

    w_start is the private module as it was when the training began. What the silos share of it was received then: all
    of a few-shot network, or a discriminator in federated averaging. What stays with the silo, such as an embedding's
    layer for its own classes, is pulled to where the silo itself had left it. With strength 0 there is no term, and
    nothing to keep.
    """

    def __init__(self, strength: float, parameters: Iterable[nn.Parameter]) -> None:
        self._strength, self._parameters = strength, list(parameters)
        self._start = self._flat() if strength else None

    def anchor(self) -> None:
        """Take the parameters of this moment for w_start."""
        if self._start is not None:
            self._start = self._flat()

    def added_to(self, gradient: Tensor) -> Tensor:
        """The flat gradient with the term's own added, mu (w - w_start)."""
        if self._start is None:
            return gradient
        return gradient + self._strength * (self._flat() - self._start)

    def state(self) -> State:
        """w_start, because the parameters move on from it; nothing without a strength."""
        return {} if self._start is None else {"start": self._start.cpu().clone()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        require_same_shapes(state, self.state())
        if self._start is not None:
            self._start = state["start"].to(self._start.device, copy=True)

    def _flat(self) -> Tensor:
        return torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])
