"""The aggregator's view of one training step, under each protection, made by the code that protects.

The networks' weights, the clip norm, the number of rows and the class that each silo declares are public: an attacker
knows them under every protection. Noise, masks and keys come from the operating system's generator, as in a real run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, assert_never

import numpy as np
import torch
from torch import Tensor

from siloseal.experiments.attacks.uploads import ReadableSum, Reals, read_upload
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.privacy.least_noise import smallest_noise
from siloseal.federation.privacy.mechanisms.gaussian import GaussianAtSilo
from siloseal.federation.privacy.mechanisms.gaussian_noise import noise_deviation
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secagg.config import SecAggConfig
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.sums.session import RealDomain
from siloseal.silo.training.gradients import UnitGradients
from siloseal.silo.training.noising import add_noise, scale

LARGEST_ENTRY = 100.0
"""Largest entry of an unclipped gradient, on which the session of a sum agrees beforehand."""


@dataclass(frozen=True)
class Plain:
    """The gradient itself, as federated averaging without protection would send it."""


@dataclass(frozen=True)
class Clipped:
    """The sum of the rows' gradients, each clipped to this norm."""

    clip_norm: float = 1.0


@dataclass(frozen=True)
class ExampleNoise:
    """The clipped sum with noise of `noise_multiplier` clip norms on each entry: one step of private training."""

    noise_multiplier: float
    clip_norm: float = 1.0

    @classmethod
    def at_epsilon(cls, epsilon: float, *, delta: float, sampling_rate: float, steps: int) -> Self:
        """Return the least noise with which this many steps stay within the budget."""
        return cls(
            smallest_noise(lambda z: [SampledGaussianSteps(sampling_rate, z, steps)], epsilon=epsilon, delta=delta)
        )


@dataclass(frozen=True)
class LocalNoise:
    """The whole update, clipped to this norm and noised by the silo before it goes into any sum."""

    noise_multiplier: float
    clip_norm: float = 1.0


@dataclass(frozen=True)
class SumOf:
    """The exact sum of several silos' gradients, and nothing of one alone: what SecAgg lets the aggregator see."""

    silos: int


@dataclass(frozen=True)
class Upload:
    """One silo's upload in a sum of four, decoded as if nothing were hidden."""

    secure_sum: ReadableSum


Protection = Plain | Clipped | ExampleNoise | LocalNoise | SumOf | Upload


def silos_of(protection: Protection) -> int:
    """Return how many silos' steps are in what the aggregator sees."""
    return protection.silos if isinstance(protection, SumOf) else 1


def row_clip_norm(protection: Protection) -> float | None:
    """Norm to which each row's gradient is clipped in what the aggregator sees; None where rows are not clipped."""
    return protection.clip_norm if isinstance(protection, Clipped | ExampleNoise) else None


def seen(protection: Protection, steps: Sequence[UnitGradients], *, rows: int) -> Tensor:
    """Return the flat vector that the aggregator holds after one step on this many examples of each silo."""
    gradients = [step.sum(torch.arange(rows), clip_norm=row_clip_norm(protection)) for step in steps]
    first, randomness = gradients[0], SecureRandomness()
    match protection:
        case Plain() | Clipped():
            return scale(first, rows)
        case ExampleNoise(noise_multiplier=noise, clip_norm=clip_norm):
            return scale(add_noise(first, noise_std=noise_deviation(noise, clip_norm), randomness=randomness), rows)
        case LocalNoise(noise_multiplier=noise, clip_norm=clip_norm):
            return _summed(NoisySum(GaussianAtSilo(clip_norm, noise, whole=True), PlainSum()), [scale(first, rows)])
        case SumOf():
            return _summed(SecAggConfig(kind="secagg").build(), [scale(gradient, rows) for gradient in gradients])
        case Upload(secure_sum=config):
            numbers = read_upload(config, _reals(scale(first, rows)), bound=LARGEST_ENTRY)
            return torch.from_numpy(numbers.astype(np.float32))
        case _:
            assert_never(protection)


def _summed(scheme: SecureSum, vectors: Sequence[Tensor]) -> Tensor:
    """Return the total of one whole session between silos that contribute these."""
    domain = RealDomain(len(vectors[0]), LARGEST_ENTRY)
    total = sum_in_process(scheme, [_reals(vector) for vector in vectors], domain=domain).total
    return torch.from_numpy(total.astype(np.float32))


def _reals(vector: Tensor) -> Reals:
    return np.asarray(vector.numpy(), dtype=np.float64)
