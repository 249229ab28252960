"""Private training: the one loop through which data reaches a model."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from siloseal.federation.errors import BudgetExceeded, DataError, RunError, UncountableEvent
from siloseal.federation.job.sections.optimizers import OptimizerConfig
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.privacy.mechanisms.gaussian_noise import noise_deviation, require_little_rounding
from siloseal.federation.randomness import Randomness
from siloseal.models.checkpoints import State, part_of, renamed, under
from siloseal.models.learner import ExampleLearner, TaskLearner
from siloseal.models.process_randomness import drawing
from siloseal.models.vectors import trainable_parameters
from siloseal.silo.training.device import CPU
from siloseal.silo.training.gradients import ExampleSource, TaskSource, unit_gradients
from siloseal.silo.training.noising import add_noise, scale
from siloseal.silo.training.optimizers import build_optimizer
from siloseal.silo.training.poisson_sampling import poisson_sample
from siloseal.silo.training.proximal import ProximalTerm


class Chargeable(Protocol):
    """The ledger, as far as training needs it."""

    def charge(self, event: Event, *, phase: str) -> None:
        """Book the cost of a release, or raise BudgetExceeded and book nothing."""


@dataclass(frozen=True)
class Privacy:
    """How far one unit can move a step, the noise that hides it, and who pays. They come together or not at all."""

    clip_norm: float
    noise_multiplier: float
    ledger: Chargeable

    def __post_init__(self) -> None:
        if not (self.clip_norm > 0 and self.noise_multiplier > 0):
            raise UncountableEvent(
                f"clip norm {self.clip_norm:g} and noise multiplier {self.noise_multiplier:g}, expected both above 0; "
                "to train without privacy, on public data, pass privacy=None"
            )

    @property
    def noise_std(self) -> float:
        """The standard deviation of the noise on a clipped sum, sigma C and the allowance for rounding."""
        return noise_deviation(self.noise_multiplier, self.clip_norm)


@dataclass(frozen=True)
class TrainingProgress:
    """How far a call of `train` has come. No loss, norm or clipped fraction: those would be unpaid releases."""

    steps_done: int
    steps: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TrainingOutcome:
    """How a call of `train` ended."""

    steps_done: int
    stopped_by_budget: bool


class PrivateTrainer:
    """Trains a learner's private module on Poisson samples; `privacy=None` is the same loop without clip and noise.

    What a network draws in private steps follows from `draws`, by default from `randomness`, as samples and noise do.
    """

    def __init__(
        self,
        learner: ExampleLearner | TaskLearner,
        data: ExampleSource | TaskSource,
        *,
        sampling_rate: float,
        optimizer: OptimizerConfig,
        privacy: Privacy | None,
        randomness: Randomness,
        draws: Randomness | None = None,
        chunk_steps: int | None = None,
        device: torch.device = CPU,
    ) -> None:
        self.expected_batch = sampling_rate * len(data)
        if not (self.expected_batch > 0 and sampling_rate <= 1):
            raise DataError(
                f"{len(data)} units at sampling rate {sampling_rate:g}, expected at least one unit and a rate above 0 "
                "and at most 1; give batch size / number of units"
            )
        self._gradients = unit_gradients(
            learner, data, device, expected_batch=self.expected_batch, randomness=draws or randomness
        )
        self.rows_alone = ""
        """Why every row has a pass of its own in a private step, which is slow; empty where rows share passes."""
        if privacy is not None:
            self.rows_alone = self._gradients.require_clippable()  # refuse now, before anything is charged
            entries = sum(part.numel() for part in trainable_parameters(learner.private_module))
            # A silo that no round asks has no noise planned. No event has infinite noise, so it cannot take a step.
            if math.isfinite(privacy.noise_multiplier):
                require_little_rounding(privacy.noise_multiplier, entries)
        if device != CPU:
            learner.to(device)
        self._learner, self._units, self._device = learner, len(data), device
        self._sampling_rate, self._privacy, self._randomness = sampling_rate, privacy, randomness
        self._chunk_steps = chunk_steps
        self._parameters = trainable_parameters(learner.private_module)
        noise_std = 0.0 if privacy is None else privacy.noise_std / self.expected_batch
        self._optimizer = build_optimizer(optimizer, self._parameters, noise_std=noise_std)
        self._proximal = ProximalTerm(optimizer.proximal, self._parameters)

    def train(
        self, steps: int, *, phase: str, done: int = 0, on_chunk: Callable[[TrainingProgress], None] | None = None
    ) -> TrainingOutcome:
        """Take up to `steps` steps, each chunk charged before it runs: a crash over-counts, and never under-counts.

        `done` of them lie behind, before a crash. Where none does, the proximal term is anchored here.
        """
        if not done:
            self._proximal.anchor()
        torch.set_flush_denormal(True)  # for this thread: a discriminator far ahead yields denormals, which are slow
        # A crash loses what its chunk was charged: a tenth of a short training, at most 50 steps of a long one.
        chunk = self._chunk_steps or min(50, max(10, steps // 10))
        stopped = False
        while done < steps and not stopped:
            granted = self._charge(min(chunk, steps - done), phase)
            stopped = granted == 0
            for _ in range(granted):
                self._step()
            self._require_finite()
            done += granted
            if granted and on_chunk is not None:
                on_chunk(TrainingProgress(done, steps, self._learner.public_metrics()))
        return TrainingOutcome(done, stopped)

    def _charge(self, steps: int, phase: str) -> int:
        """Number of these steps that the ledger grants: the first of all, half, a quarter ... that fits; 0 if none."""
        if self._privacy is None:
            return steps
        while steps > 0:
            event = SampledGaussianSteps(self._sampling_rate, self._privacy.noise_multiplier, steps)
            try:
                self._privacy.ledger.charge(event, phase=phase)
            except BudgetExceeded:
                steps //= 2
            else:
                break
        return steps

    def _step(self) -> None:
        sample = poisson_sample(self._units, self._sampling_rate, self._randomness)
        clip_norm = None if self._privacy is None else self._privacy.clip_norm
        total = self._gradients.sum(sample, clip_norm=clip_norm)  # of an empty sample, too: skipping it would tell
        if self._privacy is not None:
            total = add_noise(total, noise_std=self._privacy.noise_std, randomness=self._randomness).to(self._device)
        self._descend(total)
        with drawing():
            self._learner.public_step()

    def _descend(self, noised_sum: Tensor) -> None:
        """Take the optimizer's step: all that follows from the noised sum is post-processing."""
        self._optimizer.step(self._proximal.added_to(scale(noised_sum, self.expected_batch)))

    def _require_finite(self) -> None:
        # The parameters are noised, so whether they diverged is no secret.
        if not all(torch.isfinite(parameter).all() for parameter in self._parameters):
            raise RunError("training diverged: a parameter is NaN or infinite; lower the learning rate")

    def state(self) -> State:
        """The state of learner, optimizer and proximal term, for a checkpoint between chunks. Training leaves it alone.

        A learner may return its parameters themselves, as `state_dict()` does. Our own parts return copies.
        """
        own = renamed("optimizer", self._optimizer.state()) | renamed("proximal", self._proximal.state())
        return under("learner", self._learner.state()) | own

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a checkpoint. The ledger has its own file and may have been charged for lost steps: so be it."""
        self._proximal.load_state(part_of("proximal", state))
        self._optimizer.load_state(part_of("optimizer", state))
        self._learner.load_state(part_of("learner", state))
