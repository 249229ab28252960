"""The real trainer, step by step under the attacker's eyes: what it releases, and what an attacker knows besides."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.optimizers import DpAdamBcConfig, DpAdamConfig, DpSgdConfig, OptimizerConfig
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.randomness import Randomness
from siloseal.models.checkpoints import State
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.privacy_audit.guesses import coin
from siloseal.privacy_audit.known_randomness import KnownRandomness
from siloseal.privacy_audit.units import CanaryUnits
from siloseal.silo.training.trainer import Privacy, PrivateTrainer

Others = tuple[int, ...]


@dataclass(frozen=True)
class Sums:
    """The clipped sum of a batch without the canary, and how far the canary moves it."""

    without: Tensor
    move: Tensor


@dataclass(frozen=True)
class Step:
    """One audited step: what was released, and what is known to an attacker who has all but the coin and the noise."""

    noised_sum: Tensor
    """The sum that the optimizer took in, as its state shows it."""
    sums: Sums
    coin: bool
    """Whether the canary was in the data set."""
    met: bool
    """Whether the canary was in the batch."""
    drawn: int
    """Number of units in the sample, the canary with them where it was drawn and not there."""

    @property
    def noise(self) -> Tensor:
        """The noise of the step, which whoever knows everything can compute afterwards."""
        known = self.sums.without + self.sums.move if self.met else self.sums.without
        return self.noised_sum - known


@dataclass(frozen=True)
class BookedSteps:
    """A ledger in memory, which refuses nothing, and books nothing but what the audit is about."""

    expected: SampledGaussianSteps
    """One step, as the job's ledger books it."""
    steps: list[int] = field(default_factory=list)

    def charge(self, event: Event, *, phase: str) -> None:
        """Keep the number of steps."""
        if not isinstance(event, SampledGaussianSteps) or replace(event, steps=1) != self.expected:
            raise RunError(f"a step was booked as {event}, expected steps like {self.expected}; audit what is booked")
        self.steps.append(event.steps)


class AuditedTrainer(PrivateTrainer):
    """The private trainer with a coin before each step, and an attacker behind it.

    Each step begins with the same weights and an optimizer that has seen nothing: the attacker may choose the past. So
    the canary's gradient is the same in every step, and the first moment shows the step's noised sum by itself.
    """

    def __init__(
        self,
        learner: ExampleLearner | TaskLearner,
        data: CanaryUnits,
        known: KnownRandomness,
        *,
        sampling_rate: float,
        optimizer: OptimizerConfig,
        privacy: Privacy,
        randomness: Randomness,
        on_step: Callable[[Step], None],
    ) -> None:
        super().__init__(
            learner, data, sampling_rate=sampling_rate, optimizer=optimizer, privacy=privacy, randomness=randomness
        )
        self._audited, self._known, self._config, self._on_step = data, known, optimizer, on_step
        self._clip_norm = privacy.clip_norm
        self._anchor: State = {name: tensor.clone() for name, tensor in self.state().items()}
        self._weights = self._flat_weights()
        self._sums = dict[Others, Sums]()

    def _step(self) -> None:
        self._audited.present = coin()
        self._known.begin("step")
        super()._step()
        tossed, met, others = self._audited.present, self._audited.met, self._audited.others
        drawn = self._audited.drawn
        noised_sum = self._noised_sum()
        self.load_state(self._anchor)
        self._on_step(Step(noised_sum, self._sums_of(others), tossed, met, drawn))

    def _noised_sum(self) -> Tensor:
        """The noised sum of the step that was just taken, from the optimizer's state, or from what it moved.

        Without momentum's state, and where the expected batch is no power of two, its last bits are lost.
        """
        state = self._optimizer.state()
        match self._config:
            case DpAdamConfig(first_decay=decay) | DpAdamBcConfig(first_decay=decay):
                gradient = state["first"] / (1.0 - decay)
            case DpSgdConfig(momentum=momentum) if momentum:
                gradient = state["velocity"]
            case DpSgdConfig(learning_rate=rate):
                gradient = ((self._weights - self._flat_weights()) / rate).float()
        return gradient * self.expected_batch

    def _sums_of(self, others: Others) -> Sums:
        """The sums with these others in the batch, by the trainer's own clipping."""
        if others not in self._sums:
            without, full = (self._clipped_sum(others, present=present) for present in (False, True))
            self._sums[others] = Sums(without, full - without)
        return self._sums[others]

    def _clipped_sum(self, others: Others, *, present: bool) -> Tensor:
        self._audited.present = present
        self._known.begin("step")
        total = self._gradients.sum(torch.tensor([*others, self._audited.canary]), clip_norm=self._clip_norm)
        self.load_state(self._anchor)
        return total

    def _flat_weights(self) -> Tensor:
        return torch.cat([parameter.detach().double().reshape(-1) for parameter in self._parameters])
