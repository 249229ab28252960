"""Attacks as measurements: how far each one gets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import numpy as np
from pydantic import Field

from siloseal.experiments.attacks.uploads import ReadableSum
from siloseal.experiments.comparison.rows import Row
from siloseal.federation.config.section import Section
from siloseal.federation.sums.config import SumKind

if TYPE_CHECKING:
    from siloseal.experiments.attacks.protections import Protection

Flaw = Literal["none", "half_noise", "tenth_less_noise", "clip_too_wide", "no_sampling", "reused_noise", "float_noise"]
"""Flaws that an audit may look for: those of `flaws.py`, which takes torch to import."""

CONFIDENCE = 0.95
"""Confidence of an audit's lower bound."""
LARGEST_BOUND = 1000.0
"""Bound that stands for any larger one: guesses may be right more often than any noise allows."""

LEARNT = {"learnt": 1.0, "refused": 0.0, "harmless": 0.0, "does not apply": -1.0}


class Plain(Section):
    """The gradient itself."""

    kind: Literal["plain"]


class Clipped(Section):
    """Rows' gradients, each clipped."""

    kind: Literal["clipped"]


class ExampleNoise(Section):
    """One step of private training."""

    kind: Literal["example_noise"]
    noise_multiplier: float = Field(gt=0, le=1e5, description="the noise multiplier, sigma")


class LocalNoise(Section):
    """The whole update, noised by the silo before it goes into any sum."""

    kind: Literal["local_noise"]
    noise_multiplier: float = Field(gt=0, le=1e5, description="standard deviation of the noise, in clip norms")


class SumOf(Section):
    """The sum of several silos' gradients."""

    kind: Literal["sum_of"]
    silos: int = Field(ge=2, le=100, description="silos in the sum")


class Upload(Section):
    """One silo's upload in a secure sum, decoded as if nothing were hidden."""

    kind: Literal["upload"]
    secure_sum: ReadableSum = Field(discriminator="kind", description="the sum that the upload is made for")


ProtectionConfig = Annotated[Plain | Clipped | ExampleNoise | LocalNoise | SumOf | Upload, Field(discriminator="kind")]


class CheatingMeasurement(Section):
    """Every cheat against one sum."""

    kind: Literal["cheating"]
    secure_sum: SumKind = Field(description="the kind of sum")
    seed: int = Field(default=0, ge=0, description="makes no difference: keys and vectors are fresh")

    def run(self, folder: Path) -> list[Row]:
        """Return 1 if the aggregator learnt a silo's vector, 0 if it did not, -1 if there was nothing to try."""
        from siloseal.experiments.attacks.cheating import play_all

        return [
            Row(measure="learnt", value=LEARNT[attempt.outcome], detail=attempt.cheat, stage=attempt.outcome)
            for attempt in play_all([self.secure_sum])
        ]


class InversionMeasurement(Section):
    """Gradient inversion of one step, on the image with the seed's number."""

    kind: Literal["inversion"]
    protection: ProtectionConfig = Field(description="what the upload is protected by")
    iterations: int = Field(default=150, ge=1, le=100_000, description="steps of the attacker's search")
    seed: int = Field(default=0, ge=0, description="the number of the image that is attacked")

    def run(self, folder: Path) -> list[Row]:
        """Return how near the attacker came; both images are kept beside the numbers."""
        from siloseal.experiments.attacks.inversion import invert

        found = invert(_protection(self.protection), image=self.seed, iterations=self.iterations)
        np.savez(folder / "images.npz", original=found.originals[0], rebuilt=found.reconstructions[0])
        return [
            Row(measure="psnr", value=found.psnr, unit="dB"),
            Row(measure="baseline_psnr", value=found.guess_psnr, unit="dB"),
        ]


class AuditMeasurement(Section):
    """An audit of the private trainer at the noise that an epsilon takes."""

    kind: Literal["audit"]
    epsilon: float = Field(gt=0, le=100, description="the epsilon that the ledger books for a few steps")
    sampling_rate: float = Field(
        default=1.0, gt=0, le=1, description="the probability with which an example is in a step"
    )
    steps: int = Field(default=2000, ge=50, le=1_000_000, description="audited steps, each with a coin of its own")
    flaw: Flaw = Field(default="none", description="a fault that the ledger does not know of")
    seed: int = Field(default=0, ge=0, description="tells repetitions apart; noise is never seeded")

    def run(self, folder: Path) -> list[Row]:
        """Return what the guesses prove, what the ledger says, and the verdict."""
        from siloseal.experiments.attacks.audited_training import audit_training

        found = audit_training(self.epsilon, sampling_rate=self.sampling_rate, steps=self.steps, flaw=self.flaw)
        return [
            Row(measure="lower_bound", value=min(found.lower_bound, LARGEST_BOUND)),
            Row(measure="epsilon", value=found.booked_epsilon),
            Row(measure="delta", value=found.delta),
            Row(measure="p_value", value=found.p_value),
            Row(measure="p_value_of_guesses", value=found.guesses.p_value),
            Row(measure="broken", value=float(found.verdict == "broken")),
            Row(measure="steps", value=found.guesses.steps),
            Row(measure="confidence", value=CONFIDENCE),
        ]


def _protection(config: ProtectionConfig) -> "Protection":
    from siloseal.experiments.attacks import protections

    match config:
        case Plain():
            return protections.Plain()
        case Clipped():
            return protections.Clipped()
        case ExampleNoise(noise_multiplier=noise):
            return protections.ExampleNoise(noise)
        case LocalNoise(noise_multiplier=noise):
            return protections.LocalNoise(noise)
        case SumOf(silos=silos):
            return protections.SumOf(silos)
        case Upload(secure_sum=secure_sum):
            return protections.Upload(secure_sum)
        case _:
            assert_never(config)
