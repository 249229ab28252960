"""Models that learn a task by steps of gradient descent from a learnt initialisation: Reptile, and the LSTM.

The base learner's parameters travel as one flat vector, `theta`, because the LSTM treats every coordinate alike.
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from federation.config.few_shot import ReptileConfig
from models.meta.model import FewShotModel, Shape
from models.meta.network import Conv4Classifier


class ReptileModel(FewShotModel):
    """An initialisation from which a few steps of gradient descent learn a task."""

    def __init__(self, config: ReptileConfig, image_shape: Shape) -> None:
        super().__init__()
        self.image_shape, self.ways = image_shape, config.ways
        self._steps, self._rate = config.inner_steps, config.inner_rate
        self.initial = Conv4Classifier(image_shape, config.filters, config.ways)

    def learn(self, support: Tensor, labels: Tensor) -> Tensor:
        """The `theta` that the task's labelled images lead to."""
        theta = flat(self.initial).detach()
        for _ in range(self._steps):
            theta = theta - self._rate * loss_and_gradient(self.initial, theta, support, labels)[1]
        return theta

    def classify(self, support: Tensor, labels: Tensor, query: Tensor) -> Tensor:
        """(Q, ways): a score for each class, from images."""
        return scores(self.initial, self.learn(support, labels), query)[:, : int(labels.max()) + 1]


def flat(network: nn.Module) -> Tensor:
    """The network's parameters as `theta`; gradients flow back to them."""
    return torch.cat([parameter.reshape(-1) for parameter in network.parameters()])


def scores(network: nn.Module, theta: Tensor, images: Tensor) -> Tensor:
    """The network at `theta` instead of at its own parameters."""
    named = dict(network.named_parameters())
    parts = torch.split(theta, [parameter.numel() for parameter in named.values()])
    at = {name: part.view_as(named[name]) for name, part in zip(named, parts, strict=True)}
    logits: Tensor = functional_call(network, at, (images,))
    return logits


def loss_and_gradient(network: nn.Module, theta: Tensor, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy on a task's labelled images, and its gradient by `theta`, both as constants: first order."""
    with torch.enable_grad():
        at = theta.detach().requires_grad_()
        loss = functional.cross_entropy(scores(network, at, images), labels)
        (gradient,) = torch.autograd.grad(loss, at)
    return loss.detach(), gradient
