"""The LSTM meta-learner (Ravi and Larochelle, "Optimization as a model for few-shot learning", ICLR 2017).

Gradient descent has the form of an LSTM's cell state: theta_t = f_t * theta_(t-1) - i_t * gradient. So the gates, which
say how much to forget and how far to step, are learnt instead of set. What happens within a task is in the cell state
theta; what all tasks have in common is in the weights of the gates and in theta_0, the learnt initialisation.

Each coordinate of theta has gates of its own, by weights that all coordinates share: 2,126 by default, whatever the
base learner's size.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from siloseal.federation.job.sections.few_shot import MetaLstmConfig
from siloseal.federation.shapes import ImageShape
from siloseal.models.meta.inner_loop import InnerLoopModel, ways_of

LossAndGradient = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Function from `theta` to loss and gradient on a task's labelled images: numbers, through which no gradient flows."""

SMALL = math.exp(-10.0)
"""Magnitude below which gradients are scaled linearly, and above it by their logarithm: p = 10 in the appendix."""

FIRST_FORGETTING = 7.0
"""Forget gate at the start, before its sigmoid, which keeps 0.999 of a weight: training begins near plain SGD."""

SLOWNESS = 0.1
"""The gates move so much more slowly than the initialisation: they act on every coordinate in every step, and at the
same pace they make training swing."""


class MetaLstmModel(InnerLoopModel):
    """An initialisation, and the rule by which a task's gradients change it."""

    def __init__(self, config: MetaLstmConfig, shape: ImageShape) -> None:
        super().__init__(config, shape)
        self._first_step = math.log(config.inner_rate / (1 - config.inner_rate))  # whose sigmoid is the rate
        self.reader = nn.LSTMCell(4, config.hidden)  # of a coordinate's gradient and the loss, each as two numbers
        self.forget = nn.Linear(config.hidden + 2, 1)
        self.step = nn.Linear(config.hidden + 2, 1)
        for layer in (self.reader, self.forget, self.step):
            for weight in layer.parameters():
                nn.init.uniform_(weight, -0.01, 0.01)

    def learn(self, support: Tensor, labels: Tensor) -> Tensor:
        """The `theta` that a task's labelled images lead to, with the graph back to gates and initialisation."""
        return self.unroll(self.start(ways_of(labels)), lambda theta: self.loss_and_gradient(theta, support, labels))

    def unroll(self, theta: Tensor, loss_and_gradient_at: LossAndGradient) -> Tensor:
        """theta (P,) after the task's steps."""
        state = None
        forget = step = torch.zeros_like(theta)
        for _ in range(self._steps):
            loss, gradient = loss_and_gradient_at(theta)
            inputs = torch.cat([preprocess(gradient), preprocess(loss.expand(1)).expand(len(gradient), 2)], dim=1)
            state = self.reader(inputs, state)  # two times (P, hidden)
            forget = _gate(self.forget, FIRST_FORGETTING, state[0], theta, forget)
            step = _gate(self.step, self._first_step, state[0], theta, step)
            theta = forget * theta - step * gradient
        return theta


def _gate(layer: nn.Module, first: float, read: Tensor, theta: Tensor, before: Tensor) -> Tensor:
    """The gate (P,) of each coordinate, from what was read of its gradients, its value, and its gate before."""
    moved: Tensor = layer(torch.column_stack([read, theta, before]))
    return torch.sigmoid(first + SLOWNESS * moved).squeeze(1)


def preprocess(values: Tensor) -> Tensor:
    """Gradients (P,) to (P, 2): logarithm of the magnitude, and sign, so that all sizes can be distinguished."""
    large = values.abs() >= SMALL
    logarithms = values.abs().clamp(min=SMALL).log() / 10
    return torch.stack([torch.where(large, logarithms, -1.0), torch.where(large, values.sign(), values / SMALL)], dim=1)
