"""Models that learn a task by steps of gradient descent from a learnt initialisation: Reptile, and the LSTM.

The base learner's parameters travel as one flat vector, `theta`, because the LSTM treats every coordinate alike: first
those of the convolutions, whose start is learnt, then those of a linear layer for the task's classes, which starts at
zeros. Which number a class gets in a task means nothing, so there is nothing to learn about that layer's start, and
what would be learnt are accidents of the training tasks (Kao, Chiu and Chen, "MAML is a noisy contrastive learner in
classification", ICLR 2022). From zeros, the first step is the best guess: each class's row becomes what its features
have beyond the average. And a task may have any number of classes.
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from siloseal.federation.job.sections.few_shot import InnerLoop, ReptileConfig
from siloseal.federation.shapes import ImageShape
from siloseal.models.meta.model import FewShotModel
from siloseal.models.meta.network import Conv4

SHARPNESS = 4.0
"""Factor of the scores, so that the linear layer learns faster than the convolutions at one step size."""


class InnerLoopModel(FewShotModel):
    """The base learner with its learnt start."""

    def __init__(self, config: InnerLoop, shape: ImageShape) -> None:
        super().__init__()
        self.shape = shape
        self.body = Conv4(shape, config.filters)
        self._steps = config.inner_steps

    @abstractmethod
    def learn(self, support: Tensor, labels: Tensor) -> Tensor:
        """The `theta` that a task's labelled images lead to."""

    def start(self, ways: int) -> Tensor:
        """`theta` (P,) before the task's first step; gradients flow back to the convolutions' start."""
        return torch.cat([flat(self.body), torch.zeros(ways * (self.body.features + 1), dtype=_dtype(self.body))])

    def scores(self, theta: Tensor, images: Tensor, ways: int) -> Tensor:
        """The scores (N, ways) of the base learner at `theta`."""
        named = dict(self.body.named_parameters())
        sizes = [*(parameter.numel() for parameter in named.values()), ways * self.body.features, ways]
        *parts, weight, bias = torch.split(theta, sizes)
        at = {name: part.view_as(named[name]) for name, part in zip(named, parts, strict=True)}
        features = functional_call(self.body, at, (images,))
        # Normalised, so that no class wins by being bright.
        features = functional.layer_norm(features, features.shape[1:])
        return SHARPNESS * functional.linear(features, weight.view(ways, -1), bias)

    def loss_and_gradient(self, theta: Tensor, support: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Cross entropy on a task's labelled images and its gradient by `theta`, both as constants: first order."""
        with torch.enable_grad():
            at = theta.detach().requires_grad_()
            loss = functional.cross_entropy(self.scores(at, support, ways_of(labels)), labels)
            (gradient,) = torch.autograd.grad(loss, at)
        return loss.detach(), gradient

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """The scores (Q, ways) of the classes, from images."""
        return self.scores(self.learn(support, labels), query, ways_of(labels))


class ReptileModel(InnerLoopModel):
    """An initialisation from which a few steps of gradient descent learn a task."""

    def __init__(self, config: ReptileConfig, shape: ImageShape) -> None:
        super().__init__(config, shape)
        self.rate = config.inner_rate

    def learn(self, support: Tensor, labels: Tensor) -> Tensor:
        """The `theta` that a task's labelled images lead to, as a constant."""
        theta = self.start(ways_of(labels)).detach()
        for _ in range(self._steps):
            theta = theta - self.rate * self.loss_and_gradient(theta, support, labels)[1]
        return theta


def ways_of(labels: Tensor) -> int:
    """Number of classes of a task."""
    return int(labels.max()) + 1


def flat(network: nn.Module) -> Tensor:
    """The network's parameters as one vector; gradients flow back to them."""
    return torch.cat([parameter.reshape(-1) for parameter in network.parameters()])


def _dtype(network: nn.Module) -> torch.dtype:
    return next(network.parameters()).dtype
