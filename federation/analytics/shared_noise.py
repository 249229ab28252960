"""The noise that all queries of a job share: a multiplier for counts and a contrast for bits, over honest silos."""

from dataclasses import dataclass
from typing import Literal

from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.privacy.mechanisms.integer_noise import DiscreteGaussian, Move, Skellam

NoiseKind = Literal["skellam", "ddg"]

LEAST_VARIANCE = 0.5
"""Least variance of one silo's part, which the bound on sums of discrete Gaussians needs; it costs little elsewhere."""


@dataclass(frozen=True)
class SharedNoise:
    """The noise of a release, whatever it counts."""

    kind: NoiseKind
    multiplier: float
    """The deviation of the honest silos' noise together, in units of how far one unit moves the counts in L2."""
    contrast: float
    """The contrast that the honest silos' flips together leave between a bit that is never set and a coin."""
    honest: int
    records: int = 1
    """Number of records that are protected together: they may all move the same count."""

    def counts(self, one: Move) -> NoisyCounts:
        """The mechanism for counts that one record moves this far."""
        many = self.records
        move = Move(many * one.l2, many * one.l1, many * one.linf, one.coordinates)
        variance = max(LEAST_VARIANCE, (self.multiplier * move.l2) ** 2 / self.honest)
        match self.kind:
            case "skellam":
                return NoisyCounts(move, Skellam(variance))
            case "ddg":
                return NoisyCounts(move, DiscreteGaussian(variance))

    def bits(self) -> NoisyBits:
        """The mechanism for cells of which one record sets at most one."""
        return NoisyBits(self.contrast, self.honest, self.records)
