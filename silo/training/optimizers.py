"""Optimizers on noisy gradients: the last verb of a private step. What they receive is private already."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from math import sqrt
from typing import assert_never

import torch
from torch import Tensor, nn

from siloseal.federation.job.sections.optimizers import DpAdamBcConfig, DpAdamConfig, DpSgdConfig, OptimizerConfig
from siloseal.models.checkpoints import State, require_same_shapes


class PrivateOptimizer(ABC):
    """An optimizer that takes the scaled noisy gradient, flat, in the order of the parameters, and moves them."""

    def __init__(self, parameters: Iterable[nn.Parameter], moments: tuple[str, ...]) -> None:
        self._parameters = list(parameters)
        flat = torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])
        self._moments = {name: torch.zeros_like(flat) for name in moments}
        self._steps = 0

    @torch.no_grad()
    def step(self, gradient: Tensor) -> None:
        """Take one step against this gradient."""
        self._steps += 1
        change = self._change(gradient)
        sizes = [parameter.numel() for parameter in self._parameters]
        for parameter, part in zip(self._parameters, torch.split(change, sizes), strict=True):
            parameter.sub_(part.view_as(parameter))

    @abstractmethod
    def _change(self, gradient: Tensor) -> Tensor:
        """The vector to subtract from the parameters."""

    def state(self) -> State:
        """The moments and the step count, as copies in main memory."""
        return {"steps": torch.tensor(self._steps)} | {
            name: value.cpu().clone() for name, value in self._moments.items()
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        require_same_shapes(state, self.state())
        self._steps = int(state["steps"])
        for name, value in self._moments.items():
            value.copy_(state[name])


class DpSgd(PrivateOptimizer):
    """Gradient descent with momentum."""

    def __init__(self, parameters: Iterable[nn.Parameter], config: DpSgdConfig) -> None:
        super().__init__(parameters, ("velocity",) if config.momentum else ())
        self._config = config

    def _change(self, gradient: Tensor) -> Tensor:
        if not self._config.momentum:
            return gradient * self._config.learning_rate
        velocity = self._moments["velocity"].mul_(self._config.momentum).add_(gradient)
        return velocity * self._config.learning_rate


class _Adam(PrivateOptimizer):
    """The two moments that both Adams keep."""

    def __init__(self, parameters: Iterable[nn.Parameter], config: DpAdamConfig | DpAdamBcConfig) -> None:
        super().__init__(parameters, ("first", "second"))
        self._betas = config.first_decay, config.second_decay

    def _update_moments(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        (beta1, beta2), first, second = self._betas, self._moments["first"], self._moments["second"]
        first.mul_(beta1).add_(gradient, alpha=1.0 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        return first, second


class DpAdam(_Adam):
    """Adam: theta -= lr m^ / (sqrt(v^) + eps).

    "standard" corrects the moments' bias, m^ = m / (1 - beta1^t) and v^ = v / (1 - beta2^t). "constant" divides by
    1 - beta1 and 1 - beta2 at every step, as the algorithm is sometimes printed. Its step relative to the standard one,
    at betas (0.9, 0.999):

        t       1     2       10      100     1000    limit sqrt(1 - beta2) / (1 - beta1)
        ratio   1.0   1.3438  2.0643  1.0248  0.3977  0.3162
    """

    def __init__(self, parameters: Iterable[nn.Parameter], config: DpAdamConfig) -> None:
        super().__init__(parameters, config)
        self._config = config

    def _change(self, gradient: Tensor) -> Tensor:
        first, second = self._update_moments(gradient)
        age = self._steps if self._config.bias_correction == "standard" else 1
        first_weight, second_weight = (1.0 - beta**age for beta in self._betas)
        root = second.sqrt().div_(sqrt(second_weight)).add_(self._config.stabiliser)
        return (first / root).mul_(self._config.learning_rate / first_weight)


class DpAdamBc(_Adam):
    """Adam that knows its noise: theta -= lr m^ / sqrt(max(v^ - Phi, floor)).

    Noise adds Phi = (sigma C / L)^2 to every entry of E[v], so under much noise sqrt(v) is nearly constant and DP-Adam
    is DP-SGD with momentum. Subtracting Phi gives Adam's scale back (Tang, Shpilevskiy and Lecuyer, AAAI 2024).
    """

    def __init__(self, parameters: Iterable[nn.Parameter], config: DpAdamBcConfig, *, noise_std: float) -> None:
        super().__init__(parameters, config)
        self._config = config
        self._noise_variance = noise_std**2
        # Without noise nothing is subtracted, and the floor only keeps the division finite.
        self._floor = config.variance_floor or self._noise_variance or 1e-16

    def _change(self, gradient: Tensor) -> Tensor:
        first, second = self._update_moments(gradient)
        first_weight, second_weight = (1.0 - beta**self._steps for beta in self._betas)
        variance = second.div(second_weight).sub_(self._noise_variance).clamp_(min=self._floor)
        return (first / variance.sqrt_()).mul_(self._config.learning_rate / first_weight)


def build_optimizer(
    config: OptimizerConfig, parameters: Iterable[nn.Parameter], *, noise_std: float
) -> PrivateOptimizer:
    """The optimizer that the config names; `noise_std` is the noise in each entry of the scaled gradient."""
    match config:
        case DpAdamConfig():
            return DpAdam(parameters, config)
        case DpSgdConfig():
            return DpSgd(parameters, config)
        case DpAdamBcConfig():
            return DpAdamBc(parameters, config, noise_std=noise_std)
        case _:
            assert_never(config)
