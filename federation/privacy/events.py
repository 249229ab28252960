"""What was released, as frozen values: enough to count it, and nothing about the data.

Each says how much noise there was and how far one unit can move what was released. How it is counted is in
`accounting.py`. An event that cannot be counted cannot be made: its constructor raises `UncountableEvent`.
"""

import math
from dataclasses import dataclass, replace
from typing import assert_never

from siloseal.federation.errors import UncountableEvent
from siloseal.federation.privacy.event_checks import (
    require_all_units,
    require_counts,
    require_noise,
    require_positive,
    require_steps,
)

MOST_TRIALS = 256
"""Most coins of a silo whose cost is counted by the L2 norm: more gain next to nothing."""


class PrivacyEvent:
    """One release, or several alike: what accounting needs to know of it.

    >>> ledger = siloseal.read_ledger("runs/first", "north")
    >>> isinstance(ledger.charges[0].event, siloseal.PrivacyEvent)
    True
    """


@dataclass(frozen=True)
class GaussianRelease(PrivacyEvent):
    """One vector of L2 sensitivity 1, released once with noise of this standard deviation."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        require_noise(self, self.noise_multiplier)


@dataclass(frozen=True)
class SampledGaussianSteps(PrivacyEvent):
    """Steps on Poisson samples: each unit joins with `sampling_rate`, its gradient is clipped, the sum is noised."""

    sampling_rate: float
    noise_multiplier: float
    steps: int

    def __post_init__(self) -> None:
        require_steps(self, self.sampling_rate, self.noise_multiplier, self.steps)


@dataclass(frozen=True)
class ExchangedGaussianSteps(PrivacyEvent):
    """Steps on Poisson samples as in `SampledGaussianSteps`, for a unit that is exchanged for another one.

    It says what such steps cost to somebody else than they were charged for: `exchanged` derives it, and no ledger
    holds it.
    """

    sampling_rate: float
    noise_multiplier: float
    steps: int

    def __post_init__(self) -> None:
        require_steps(self, self.sampling_rate, self.noise_multiplier, self.steps)


@dataclass(frozen=True)
class DiscreteGaussianRelease(PrivacyEvent):
    """A sum of integers to which `honest` silos each added discrete Gaussian noise of `local_variance`.

    One unit moves the sum by at most `l2` and `l1` in these norms, over `coordinates` entries.
    """

    honest: int
    local_variance: float
    l2: float
    l1: float
    coordinates: int
    sampling_rate: float = 1.0
    """Probability of a unit to join, which is 1: all units do. Ledgers hold it."""

    def __post_init__(self) -> None:
        require_counts(self, self.honest, self.coordinates)
        require_positive(self, self.l2, self.l1)
        require_noise(self, self.local_variance)
        require_all_units(self, self.sampling_rate)
        if self.local_variance < 0.5:
            raise UncountableEvent(
                f"{self} cannot be counted: the bound for sums of discrete Gaussians needs a variance of at least 1/2 "
                "in steps of the grid; use a finer grid (more bits)"
            )


@dataclass(frozen=True)
class SkellamRelease(PrivacyEvent):
    """A sum of integers whose noise is Skellam of this variance: that of all honest silos together."""

    variance: float
    l2: float
    l1: float
    sampling_rate: float = 1.0
    """Probability of a unit to join, which is 1: all units do. Ledgers hold it."""

    def __post_init__(self) -> None:
        require_positive(self, self.l2, self.l1)
        require_noise(self, self.variance)
        require_all_units(self, self.sampling_rate)


@dataclass(frozen=True)
class BinomialRelease(PrivacyEvent):
    """A sum of integers with fair coins as noise: `trials` of them by all honest silos together in each entry.

    Its privacy loss is infinite with some probability, so it has no Renyi curve: it is counted as one (epsilon, delta)
    pair, at this `delta` of its own.
    """

    trials: int
    l2: float
    l1: float
    linf: float
    coordinates: int
    delta: float

    def __post_init__(self) -> None:
        require_counts(self, self.trials, self.coordinates)
        require_positive(self, self.l2, self.l1, self.linf)
        if not 0 < self.delta < 1:
            raise UncountableEvent(f"{self} cannot be counted: its delta must lie in (0, 1)")
        variance = self.trials / 4
        if not variance >= max(23 * math.log(10 * self.coordinates / self.delta), 2 * self.linf):
            raise UncountableEvent(
                f"{self} cannot be counted: the theorem of cpSGD needs a variance of at least 23 ln(10 coordinates / "
                "delta) and twice the largest move of an entry; use more noise or a finer grid (more bits)"
            )


@dataclass(frozen=True)
class PoissonBinomialRelease(PrivacyEvent):
    """Sums of `trials` coins of each of `honest` silos, in each coordinate, with chances in [1/2 - theta, 1/2 + theta].

    The whole contribution of one silo may be replaced by another: that covers leaving it out, and all of its units.
    """

    honest: int
    trials: int
    theta: float
    coordinates: int

    def __post_init__(self) -> None:
        require_counts(self, self.honest, self.trials, self.coordinates)
        if not 0 < self.theta <= 0.25:
            raise UncountableEvent(f"{self} cannot be counted: theta lies in (0, 1/4]")


@dataclass(frozen=True)
class NoisyBitsRelease(PrivacyEvent):
    """Bits modulo 2 that are fair coins where a unit is, and else 1 with chance (1 - contrast) / 2.

    One unit may make coins of `cells` bits. The flips behind that chance are those of all honest silos together.
    """

    contrast: float
    cells: int

    def __post_init__(self) -> None:
        require_counts(self, self.cells)
        if not 0 < self.contrast < 1:
            raise UncountableEvent(f"{self} cannot be counted: a contrast lies in (0, 1), or bits never flip")


@dataclass(frozen=True)
class PoissonBinomialL2Release(PrivacyEvent):
    """Sums of coins as above, where one silo's vector is there or zeros: of norm `l2`, in units of the largest entry.

    An entry x of a silo's vector, |x| <= 1, gives its coins the chance 1/2 + theta x.
    """

    honest: int
    trials: int
    theta: float
    l2: float
    coordinates: int
    moves: int = 1
    """1 where the vector is there or zeros, 2 where it is exchanged for another, by way of zeros."""

    def __post_init__(self) -> None:
        require_counts(self, self.honest, self.trials, self.coordinates)
        require_positive(self, self.l2)
        if not 0 < self.theta <= 0.25:
            raise UncountableEvent(f"{self} cannot be counted: theta lies in (0, 1/4]")
        if self.trials > MOST_TRIALS:
            raise UncountableEvent(f"{self} cannot be counted: its bound is computed for up to {MOST_TRIALS} coins")
        if self.moves not in (1, 2):
            raise UncountableEvent(f"{self} cannot be counted: a vector moves to zeros, or by way of them to another")


@dataclass(frozen=True)
class RandomBitsRelease(PrivacyEvent):
    """Noisy bits as ledgers of earlier versions hold them.

    Their Renyi divergences are at most those of a Gaussian release with this noise multiplier. Nothing more is proven,
    so it is an event of its own, which nobody counts by the Gaussian's privacy loss.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        require_noise(self, self.noise_multiplier)


Event = (
    GaussianRelease
    | SampledGaussianSteps
    | ExchangedGaussianSteps
    | DiscreteGaussianRelease
    | SkellamRelease
    | BinomialRelease
    | PoissonBinomialRelease
    | NoisyBitsRelease
    | PoissonBinomialL2Release
    | RandomBitsRelease
)


def exchanged(event: Event) -> Event:
    """The cost of a release to a unit that is not taken away but exchanged for another: it moves twice as far.

    A sum moves so; bits move at twice as many cells, each of which has coins and flips of its own.
    So one example of a silo is hidden whose whole contribution may be there or not: with the example or without it,
    the contribution is another one within the clip norm. The result is there to be counted, and is never charged: a
    ledger holds what was released.
    """
    match event:
        case GaussianRelease(noise_multiplier=noise):
            return GaussianRelease(noise / 2)
        case DiscreteGaussianRelease(l2=l2, l1=l1) | SkellamRelease(l2=l2, l1=l1):
            return replace(event, l2=2 * l2, l1=2 * l1)
        case BinomialRelease(l2=l2, l1=l1, linf=linf):
            return replace(event, l2=2 * l2, l1=2 * l1, linf=2 * linf)
        case SampledGaussianSteps(sampling_rate=rate, noise_multiplier=noise, steps=steps):
            return ExchangedGaussianSteps(rate, noise, steps)
        case PoissonBinomialRelease() | ExchangedGaussianSteps():
            return event  # it covers any exchange as it is
        case PoissonBinomialL2Release(moves=1):
            return replace(event, moves=2)
        case NoisyBitsRelease(cells=cells):
            return replace(event, cells=2 * cells)  # the bits of one go, those of the other come
        case RandomBitsRelease(noise_multiplier=noise):
            return RandomBitsRelease(noise / math.sqrt(2))  # twice the curve, for the same reason
        case PoissonBinomialL2Release():
            raise UncountableEvent(f"{event} is not counted for an exchange of its units")
        case _:
            assert_never(event)
