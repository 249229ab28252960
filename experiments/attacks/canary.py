"""One trial of an audit: a real `PrivateTrainer` with a real ledger trains on a few digits, and on a canary or not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from siloseal.experiments.attacks.softmax_learner import SoftmaxLearner
from siloseal.federation.errors import UncountableEvent
from siloseal.federation.job.sections.optimizers import DpSgdConfig
from siloseal.federation.privacy.events import Event, SampledGaussianSteps
from siloseal.federation.privacy.least_noise import smallest_noise
from siloseal.federation.randomness import Randomness, SecureRandomness
from siloseal.silo.data.embedded import digits
from siloseal.silo.data.examples import Examples
from siloseal.silo.ledger import Budget, Ledger
from siloseal.silo.training.trainer import Chargeable, Privacy, PrivateTrainer

CLIP_NORM = 0.1
"""Clip norm, far below the canary's gradient of norm near 1: the canary does all that one unit may do."""

OTHERS = 15
"""Number of digits beside the canary."""

CORNER = 0
"""A pixel that is black in all digits, and white in the canary: so nobody else's gradient moves its weights."""

LABEL = 0
"""Label of the canary."""

Flaw = Literal["none", "noise_off", "noise_halved", "clip_too_wide", "sampling_ignored"]
"""Flaws of a silo.

`noise_off`: the silo adds no noise to speak of; `noise_halved`: half of what it should. `clip_too_wide`: gradients
may be ten times as long as the noise and the ledger are made for. `sampling_ignored`: every unit is in every batch,
whatever the sampling rate. In all of them the ledger books what it believes."""


@dataclass(frozen=True)
class Training:
    """The training that the ledger books, and the flaw of the silo."""

    epsilon: float
    delta: float
    sampling_rate: float
    steps: int
    flaw: Flaw

    @cached_property
    def noise_multiplier(self) -> float:
        """Least noise multiplier with which the training stays within its budget."""

        def events(noise: float) -> list[Event]:
            return [SampledGaussianSteps(self.sampling_rate, noise, self.steps)]

        return smallest_noise(events, epsilon=self.epsilon, delta=self.delta)

    def privacy(self, ledger: Chargeable) -> Privacy:
        """The privacy settings, as the trainer takes them."""
        deceived = _Deceived(ledger, self.noise_multiplier)
        match self.flaw:
            case "noise_off":
                return Privacy(CLIP_NORM, 1e-6 * self.noise_multiplier, deceived)
            case "noise_halved":
                return Privacy(CLIP_NORM, self.noise_multiplier / 2, deceived)
            case "clip_too_wide":
                return Privacy(10 * CLIP_NORM, self.noise_multiplier / 10, deceived)
            case "none" | "sampling_ignored":
                return Privacy(CLIP_NORM, self.noise_multiplier, ledger)
            case _:
                assert_never(self.flaw)

    def randomness(self) -> Randomness:
        """Return the randomness of the silo."""
        return _EveryUnit() if self.flaw == "sampling_ignored" else SecureRandomness()


class _EveryUnit(SecureRandomness):
    """A broken generator: each unit's draw is below any sampling rate."""

    def uniforms(self, count: int) -> NDArray[np.float64]:
        return np.zeros(count)


@dataclass(frozen=True)
class _Deceived:
    """A ledger that is charged for more noise than there is."""

    ledger: Chargeable
    noise_multiplier: float

    def charge(self, event: Event, *, phase: str) -> None:
        if not isinstance(event, SampledGaussianSteps):
            raise UncountableEvent(f"{event} is no training step, which is all that is audited here")
        self.ledger.charge(replace(event, noise_multiplier=self.noise_multiplier), phase=phase)


@dataclass(frozen=True)
class Booked:
    """A ledger in memory, which refuses nothing: a thousand on disk would wait for the disk."""

    events: list[Event] = field(default_factory=list)

    def charge(self, event: Event, *, phase: str) -> None:
        """Keep the charge."""
        self.events.append(event)


def book_on_disk(training: Training) -> Ledger:
    """Book one training in a real ledger with just this budget. It is returned closed, and its file is gone."""
    with TemporaryDirectory() as folder:
        budget = Budget(training.epsilon, training.delta)
        with Ledger(Path(folder) / "ledger.jsonl", silo="audited", budget=budget) as ledger:
            run_trial(training, ledger, canary=True)
    return ledger


def run_trial(training: Training, ledger: Chargeable, *, canary: bool) -> float:
    """Train from scratch and score what was released: the higher, the likelier with the canary."""
    data = _data(canary)
    learner = SoftmaxLearner(data)
    trainer = PrivateTrainer(
        learner,
        data,
        sampling_rate=training.sampling_rate,
        optimizer=DpSgdConfig(learning_rate=1.0),
        privacy=training.privacy(ledger),
        randomness=training.randomness(),
    )
    trainer.train(training.steps, phase="audit")
    return _score(learner.released, trainer.expected_batch, training)


def _score(released: Sequence[Tensor], expected_batch: float, training: Training) -> float:
    """Log likelihood ratio of the released steps with and without the canary (Neyman and Pearson).

    Without it, a step has noise of deviation sigma in the direction of the canary's gradient, in clip norms; with it,
    1 more where the canary was sampled.
    """
    rate, variance = training.sampling_rate, training.noise_multiplier**2
    evidence = 0.0
    for before, after in pairwise(released):
        towards = torch.softmax(before[:, CORNER], dim=0) - functional.one_hot(torch.tensor(LABEL), len(before))
        moved = torch.dot((before - after)[:, CORNER], towards / towards.norm()) * expected_batch / CLIP_NORM
        likelier = (2 * float(moved) - 1) / (2 * variance)
        evidence += float(np.logaddexp(math.log(rate) + likelier, math.log1p(-rate) if rate < 1 else -math.inf))
    return evidence


@cache
def _data(canary: bool) -> Examples:
    """Return the digits, and the canary or a black image, whose gradient is zero."""
    others = digits().select(torch.arange(OTHERS))
    last = torch.zeros(1, *others.shape)
    last.view(-1)[CORNER] = float(canary)
    labels = torch.cat([others.labels, torch.tensor([LABEL])])
    return Examples(torch.cat([others.inputs, last]), labels, others.classes)
