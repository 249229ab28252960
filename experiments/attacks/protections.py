"""What an aggregator sees of one training step, under each protection. All of it is made by the code that protects.

The networks' weights, the clip norm, the number of rows and the class that each silo declares are public: an attacker
knows them under every protection. Noise, masks and keys come from the operating system's generator, as in a real run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, assert_never

import numpy as np
import torch
from torch import Tensor

from federation.accounting import smallest_noise
from federation.additive.additive_sum import AdditiveSumConfig
from federation.config.sums import SecureSumConfig
from federation.engine import drive
from federation.events import SampledGaussianSteps
from federation.fixed_point import FixedPoint, from_points
from federation.identity import Identity
from federation.masked.words import ring_for
from federation.mechanism import NoisySum
from federation.mechanisms.gaussian import GaussianAtSilo
from federation.plain.plain_sum import PlainSum, PlainSumConfig
from federation.randomness import SecureRandomness
from federation.secagg.secagg_sum import SecAggConfig, SecAggPlusConfig
from federation.secure_sum import SecureSum, SiloSide
from federation.session import RealDomain, Session
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, from_array
from silo.training.gradients import UnitGradients
from silo.training.noise import add_noise, scale

LARGEST_ENTRY = 100.0
"""Of an unclipped gradient, as the session of a sum agrees on it beforehand."""

UPLOAD = 2
"""The round of masked sums in which vectors go up: the third."""


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
        """The least noise with which so many steps stay within the budget."""
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
    """The exact sum of so many silos' gradients, and nothing of one alone: what SecAgg lets the aggregator see."""

    silos: int


@dataclass(frozen=True)
class Upload:
    """One silo's upload in a sum of four. Where it is hidden, its words are read as if they were the numbers."""

    secure_sum: SecureSumConfig


Protection = Plain | Clipped | ExampleNoise | LocalNoise | SumOf | Upload


def silos_of(protection: Protection) -> int:
    """How many silos' steps are in what the aggregator sees."""
    return protection.silos if isinstance(protection, SumOf) else 1


def row_clip_norm(protection: Protection) -> float | None:
    """To which each row's gradient is clipped in what the aggregator sees; None where rows are not clipped."""
    return protection.clip_norm if isinstance(protection, Clipped | ExampleNoise) else None


def seen(protection: Protection, steps: Sequence[UnitGradients], *, rows: int) -> Tensor:
    """The flat vector that the aggregator holds after one step on so many examples of each of the silos."""
    gradients = [step.sum(torch.arange(rows), clip_norm=row_clip_norm(protection)) for step in steps]
    first, randomness = gradients[0], SecureRandomness()
    match protection:
        case Plain() | Clipped():
            return scale(first, rows)
        case ExampleNoise(noise_multiplier=noise, clip_norm=clip_norm):
            return scale(add_noise(first, noise_std=noise * clip_norm, randomness=randomness), rows)
        case LocalNoise(noise_multiplier=noise, clip_norm=clip_norm):
            return _summed(NoisySum(GaussianAtSilo(clip_norm, noise, whole=True), PlainSum()), [scale(first, rows)])
        case SumOf():
            return _summed(SecAggConfig(kind="secagg").build(), [scale(gradient, rows) for gradient in gradients])
        case Upload(secure_sum=config):
            return _upload(config, scale(first, rows))
        case _:
            assert_never(protection)


def _summed(scheme: SecureSum, vectors: Sequence[Tensor]) -> Tensor:
    """One whole session between silos that contribute these."""
    session, sides = _session(scheme, vectors)
    total = drive(
        scheme.aggregator(session), lambda asked: {silo: sides[silo].answer(message) for silo, message in asked.items()}
    )
    return torch.from_numpy(np.asarray(total.total, dtype=np.float32))


def _upload(config: SecureSumConfig, vector: Tensor) -> Tensor:
    """What the first silo's upload tells whoever reads it; the others contribute zeros."""
    scheme = config.build()
    session, sides = _session(scheme, [vector, *[torch.zeros_like(vector)] * 3])
    victim, said = session.roster[0], list[bytes]()

    def ask(asked: Mapping[str, bytes]) -> dict[str, bytes]:
        replies = {silo: sides[silo].answer(message) for silo, message in asked.items()}
        said.extend(decode(pb.SumMessage, reply).body for silo, reply in replies.items() if silo == victim)
        return replies

    drive(scheme.aggregator(session), ask)
    match config:
        case PlainSumConfig():
            numbers = from_array(decode(pb.Array, said[0]), dtype="<f4", length=len(vector))
        case SecAggConfig() | SecAggPlusConfig() | AdditiveSumConfig():
            ring = ring_for(FixedPoint(config.precision_bits).domain(_domain(vector), len(sides)), len(sides))
            points = ring.values(ring.unpack(said[UPLOAD]))
            numbers, _ = from_points(_domain(vector), points, 1, config.precision_bits)
            numbers -= numbers.mean()  # masked words lie beyond the grid: their offset alone would blacken any image
        case _:
            body = max(said, key=len)  # the ciphertext, or the sealed total
            words = np.frombuffer(body[len(body) % 4 :], dtype="<u4")
            numbers = np.resize(words[::-1], len(vector)) / 2.0**31 - 1.0  # from its end: framing comes first
    return torch.from_numpy(numbers.astype(np.float32))


def _domain(vector: Tensor) -> RealDomain:
    return RealDomain(len(vector), LARGEST_ENTRY)


def _session(scheme: SecureSum, vectors: Sequence[Tensor]) -> tuple[Session, dict[str, SiloSide]]:
    identities = [Identity.create(f"silo{number}") for number in range(len(vectors))]
    roster, keys = tuple(me.name for me in identities), tuple(me.public for me in identities)
    randomness = SecureRandomness()
    session = Session(randomness.bits(32), roster, _domain(vectors[0]), scheme.name, len(roster), keys)
    sides = {
        me.name: scheme.silo(session, me, vector.numpy().astype(np.float64), randomness)
        for me, vector in zip(identities, vectors, strict=True)
    }
    return session, sides
