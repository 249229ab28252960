"""The generator's steps: Adam with a decaying step size."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from siloseal.federation.job.sections.gan import GanConfig
from siloseal.models.adam import Adam
from siloseal.models.checkpoints import State, part_of, renamed

BETAS = (0.5, 0.999)


class GeneratorOptimizer:
    """An optimizer that moves a generator against a loss."""

    def __init__(self, config: GanConfig, generator: nn.Module) -> None:
        self._config = config
        self._adam = Adam(generator.parameters(), betas=BETAS)
        self.steps = 0

    def restart(self) -> None:
        """Forget the moments, which belong to another generator's path. The step size goes on decaying."""
        self._adam.restart()

    def step(self, loss: Tensor) -> None:
        """One step. Only the generator's gradients are taken: the loss's way leads through the discriminator."""
        self._adam.step(loss, learning_rate=self._learning_rate())
        self.steps += 1

    def _learning_rate(self) -> float:
        half_life = self._config.generator_half_life_steps
        decay: float = 1.0 if half_life is None else 0.5 ** (self.steps / half_life)
        return self._config.generator_learning_rate * decay

    def state(self) -> State:
        """The state, for a checkpoint."""
        return {"steps": torch.tensor(self.steps)} | renamed("adam", self._adam.state())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        self.steps = int(state["steps"])
        self._adam.load_state(part_of("adam", state))
