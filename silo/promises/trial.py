"""A learner on trial: copies of it at the same weights, data that is nobody's, and a trainer that nobody pays for."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from siloseal.federation.job.sections.optimizers import DpAdamConfig
from siloseal.federation.privacy.events import Event
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.shapes import Shape
from siloseal.models.learner import ExampleLearner
from siloseal.models.process_randomness import kept_randomness
from siloseal.silo.data.examples import Examples
from siloseal.silo.training.gradients import UnitGradients, unit_gradients
from siloseal.silo.training.trainer import Privacy, PrivateTrainer

SEED = 0
"""Seed of a learner's first weights."""

UNITS = 65
"""Number of units of the data: one more than training takes in one pass, since some code mixes large batches only."""


@dataclass(frozen=True)
class Trial:
    """What the promises are tried with."""

    make: Callable[[], ExampleLearner]
    """Builds the learner at its first weights; each call must give the same."""
    data: Examples
    other: Examples
    """Other data of the same shape, unit by unit."""

    @staticmethod
    def on(make: Callable[[], ExampleLearner], shape: Shape, classes: int, label_shape: Shape) -> "Trial":
        """The trial of a learner on data of these shapes: whoever tries it gets the same."""
        data, other = (trial_data(shape, classes, label_shape, seed=seed) for seed in (1, 2))
        return Trial(make, data, other)

    def learner(self) -> ExampleLearner:
        """A copy that has seen nothing."""
        with same_draws():
            return self.make()

    def train(self, learner: ExampleLearner, steps: int = 2, *, private: bool = True) -> None:
        """Take steps. Equal learners take equal steps, if they draw from torch, numpy or random.

        Without privacy nothing is clipped, so that whatever has a gradient can be trained.
        """
        trainer = PrivateTrainer(
            learner,
            self.data,
            sampling_rate=6 / len(self.data),
            optimizer=DpAdamConfig(learning_rate=1e-2),
            privacy=Privacy(1.0, 1.0, _NobodysLedger()) if private else None,
            randomness=SeededRandomness(3),
        )
        with same_draws():
            trainer.train(steps, phase="trial")


class _NobodysLedger:
    """A ledger for steps on data that is nobody's."""

    def charge(self, event: Event, *, phase: str) -> None:
        """Book nothing."""


def trial_data(shape: Shape, classes: int, label_shape: Shape = (), *, seed: int) -> Examples:
    """Inputs in [0, 1) with class numbers, or with measured targets in [0, 1) where there are no classes."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(UNITS, *shape, generator=generator)
    size = (UNITS, *label_shape)
    if classes:
        return Examples(inputs, torch.randint(classes, size, generator=generator), classes)
    return Examples(inputs, torch.rand(size, generator=generator), 0)


@contextmanager
def same_draws(seed: int = 0, *, numpy_seed: int | None = None, python_seed: int | None = None) -> Iterator[None]:
    """Let everything inside draw the same again from the generators of torch, numpy and Python.

    All three begin with `seed`, but for those that get a seed of their own.
    """
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002 (whatever a user's code draws from)
    with kept_randomness():
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed if numpy_seed is None else numpy_seed)  # noqa: NPY002
        random.seed(seed if python_seed is None else python_seed)
        try:
            yield
        finally:
            np.random.set_state(of_numpy)  # noqa: NPY002
            random.setstate(of_python)


def repeatable_gradients(learner: ExampleLearner, data: Examples) -> UnitGradients:
    """Gradients whose clipped sums draw the same, each the same as others' of its turn: in training they are secret."""
    return unit_gradients(learner, data, randomness=SeededRandomness(SEED))


def clipped_sum(gradients: UnitGradients, sample: Tensor, clip_norm: float) -> Tensor:
    """The clipped sum of the gradients of these units, as the trainer has it computed."""
    with same_draws():
        return gradients.sum(sample, clip_norm=clip_norm)


def everything_of(learner: ExampleLearner) -> dict[str, Tensor]:
    """All that a learner shows or keeps, by names: its vector, its state, its networks, its metrics."""
    found = {"vector()": learner.vector().clone()}
    found |= {f"state(), {name}": tensor.clone() for name, tensor in learner.state().items()}
    for network in ("private_module", "shared_model"):
        tensors = getattr(learner, network).state_dict()
        found |= {f"{network}, {name}": tensor.clone() for name, tensor in tensors.items()}
    metrics = learner.public_metrics().items()
    return found | {f"public_metrics(), {name}": torch.tensor(float(value)) for name, value in metrics}


def differing(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> str:
    """The names of what differs, in whatever bit; empty if nothing does."""
    names = sorted(one.keys() ^ other.keys())
    names += [name for name in one if name in other and not _equal(one[name], other[name])]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" * (len(names) > 5))


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and bool(((one == other) | (one != one)).all())
