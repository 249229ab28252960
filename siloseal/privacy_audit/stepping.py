"""The real trainer, step by step under the attacker's eyes: what it releases, and what an attacker knows besides."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from siloseal.federation.errors import RunError
from siloseal.federation.job.sections.optimizers import OptimizerConfig
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.randomness import Randomness
from siloseal.models.checkpoints import State
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.privacy_audit.guesses import coin
from siloseal.privacy_audit.known_randomness import KnownRandomness, StepDraws
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
    """The sum that the optimizer was given. All else that the step shows follows from it."""
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
    the canary's gradient is the same in every step, but for what the network draws. The attacker knows those draws,
    which are fresh in every step, and alike with the canary and without it.
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
        self._draws = StepDraws()
        super().__init__(
            learner,
            data,
            sampling_rate=sampling_rate,
            optimizer=optimizer,
            privacy=privacy,
            randomness=randomness,
            draws=self._draws,
        )
        self._audited, self._known, self._on_step = data, known, on_step
        self._clip_norm = privacy.clip_norm
        self._anchor: State = {name: tensor.clone() for name, tensor in self.state().items()}
        self._noised_sum = torch.zeros(0)
        self._sums = dict[Others, Sums]()

    def _step(self) -> None:
        self._audited.present = coin()
        self._known.begin("step")
        self._draws.begin("step")
        super()._step()
        tossed, met, others = self._audited.present, self._audited.met, self._audited.others
        drawn = self._audited.drawn
        self.load_state(self._anchor)
        self._on_step(Step(self._noised_sum, self._sums_of(others), tossed, met, drawn))

    def _descend(self, noised_sum: Tensor) -> None:
        # Not read back from what the optimizer keeps: with a small learning rate the weights round it away.
        self._noised_sum = noised_sum.clone()
        super()._descend(noised_sum)

    def _sums_of(self, others: Others) -> Sums:
        """The sums with these others in the batch, by the trainer's own clipping and with the step's own draws."""
        if self._draws.drawn is not None:
            return self._fresh_sums_of(others)
        if others not in self._sums:
            self._sums[others] = self._fresh_sums_of(others)
        return self._sums[others]

    def _fresh_sums_of(self, others: Others) -> Sums:
        without, full = (self._clipped_sum(others, present=present) for present in (False, True))
        return Sums(without, full - without)

    def _clipped_sum(self, others: Others, *, present: bool) -> Tensor:
        self._audited.present = present
        self._known.begin("step")
        total = self._gradients.sum(torch.tensor([*others, self._audited.canary]), clip_norm=self._clip_norm)
        self.load_state(self._anchor)
        return total
