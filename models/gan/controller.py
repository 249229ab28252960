"""When the generator may step. It looks at fakes alone, so what it decides is post-processing."""

from collections.abc import Mapping

import torch
from torch import Tensor

from siloseal.federation.job.sections.gan import GanConfig
from siloseal.models.checkpoints import State

ACCURACY_MEMORY = 0.9


class Controller:
    """The rule that allows one generator step after a discriminator step while the discriminator is ahead, never more.

    Under much noise the discriminator learns slowly, and this alone gives it more steps. Extra generator steps while it
    is far ahead would collapse the generator.
    """

    def __init__(self, config: GanConfig) -> None:
        self._config = config
        self._warmup_left = config.discriminator_warmup
        self._waited = 0
        self.accuracy = 0.5

    def saw_fakes(self, *, recognised: float) -> None:
        """Note the part of a batch of fakes that the discriminator recognised."""
        self.accuracy += (1.0 - ACCURACY_MEMORY) * (recognised - self.accuracy)

    def generator_may_step(self) -> bool:
        """Whether the generator steps now; to be asked once after every discriminator step."""
        if self._warmup_left > 0:
            self._warmup_left -= 1
            return False
        self._waited += 1
        ahead = self.accuracy > self._config.accuracy_threshold
        if not ahead and self._waited < self._config.most_discriminator_steps:
            return False
        self._waited = 0
        return True

    def state(self) -> State:
        """The state, for a checkpoint."""
        return {
            "accuracy": torch.tensor(self.accuracy, dtype=torch.float64),
            "waited": torch.tensor(self._waited),
            "warmup_left": torch.tensor(self._warmup_left),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """The inverse of `state`."""
        self.accuracy = float(state["accuracy"])
        self._waited, self._warmup_left = int(state["waited"]), int(state["warmup_left"])
