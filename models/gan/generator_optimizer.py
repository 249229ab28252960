"""The generator's steps: Adam with a decaying step size."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from siloseal.federation.job.sections.gan import GanConfig
from siloseal.models.checkpoints import State, under

BETAS = (0.5, 0.999)


class GeneratorOptimizer:
    """An optimizer that moves a generator against a loss."""

    def __init__(self, config: GanConfig, generator: nn.Module) -> None:
        self._config = config
        self._parameters = list(generator.parameters())
        self._adam = torch.optim.Adam(self._parameters, lr=config.generator_learning_rate, betas=BETAS)
        self.steps = 0
        self.restart()

    def restart(self) -> None:
        """Forget the moments, which belong to another generator's path. The step size goes on decaying."""
        for parameter in self._parameters:
            self._adam.state[parameter] = {  # from the start, so that every checkpoint has the same names
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }

    def step(self, loss: Tensor) -> None:
        """One step. Only the generator's gradients are taken: the loss's way leads through the discriminator."""
        gradients = torch.autograd.grad(loss, self._parameters)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        self._adam.param_groups[0]["lr"] = self._learning_rate()
        self._adam.step()
        self._adam.zero_grad()
        self.steps += 1

    def _learning_rate(self) -> float:
        half_life = self._config.generator_half_life_steps
        decay: float = 1.0 if half_life is None else 0.5 ** (self.steps / half_life)
        return self._config.generator_learning_rate * decay

    def state(self) -> State:
        """The state, for a checkpoint."""
        state = {"steps": torch.tensor(self.steps)}
        for number, parameter in enumerate(self._parameters):
            state |= under(f"adam.{number}", self._adam.state[parameter])
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        self.steps = int(state["steps"])
        for number, parameter in enumerate(self._parameters):
            for name, value in self._adam.state[parameter].items():
                value.copy_(state[f"adam.{number}.{name}"])
