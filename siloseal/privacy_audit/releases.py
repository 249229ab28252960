"""The audit of a release that a mechanism noises: many independent sessions, with one unit and without it.

Every session runs the real encoding, sum and decoding, among just the silos whose noise the event counts. The attacker
knows every vector, and sees the total.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from siloseal.federation.analytics.noisy_bits import NoisyBits
from siloseal.federation.privacy.accounting import counted
from siloseal.federation.privacy.events import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    NoisyBitsRelease,
    SkellamRelease,
)
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.session import RealDomain
from siloseal.privacy_audit.attackers import ALONG_CANARY, LOW_BITS
from siloseal.privacy_audit.booked_noise import moments
from siloseal.privacy_audit.finding import BookedAs, Finding
from siloseal.privacy_audit.guesses import ALPHA, BESIDE_SIZE, Guesses, coin, looks_until
from siloseal.privacy_audit.integer_success import counts_success, wide_success
from siloseal.privacy_audit.low_bits import unreachable_total
from siloseal.privacy_audit.noise_size import NoiseSize
from siloseal.privacy_audit.success import (
    bits_success,
    epsilon_of_success,
    gaussian_epsilon,
    largest_success,
)

Total = NDArray[np.float64]

TOLD_EVERY_SECONDS = 0.5

BASE_RECORDS = 3
"""Number of records that a silo holds besides the canary."""


@dataclass(frozen=True)
class ReleaseSubject:
    """A release with one silo's vector, and how far one unit moves it."""

    mechanism: Mechanism
    domain: RealDomain
    event: Event
    releases: int
    """Number of releases like this one that the job books."""
    delta: float
    honest: int
    """Number of silos whose noise the event counts."""
    without: Total
    move: Total

    @cached_property
    def silos(self) -> Mapping[str, Identity]:
        """The silos of a session. Only where they share the noise is there more than the one with the unit."""
        together = self.mechanism.noised_by is NoisedBy.SILOS_TOGETHER
        return {name: Identity.create(name) for name in (f"silo{n}" for n in range(self.honest if together else 1))}

    def total(self, *, present: bool) -> Total:
        """The noised total of a fresh session."""
        first, *others = self.silos
        vectors = {first: self.without + self.move * present} | dict.fromkeys(others, np.zeros(self.domain.length))
        scheme = NoisySum(self.mechanism, PlainSum())
        found = sum_in_process(scheme, vectors, domain=self.domain, identities=self.silos)
        return np.asarray(found.total, dtype=np.float64)

    @property
    def noise_size(self) -> NoiseSize | None:
        """The booked size of the noise, against which none is measured yet; None for noise that has no size."""
        distance, grid = float(np.linalg.norm(self.move)), self.mechanism.grid(self.domain)
        match self.event:
            case GaussianRelease(noise_multiplier=noise):
                return NoiseSize(noise, distance)
            case SkellamRelease() | DiscreteGaussianRelease() as event:
                of = moments(event)
                return NoiseSize(of.deviation / event.l2, max(distance, event.l2 * grid), of.kurtosis)
            case _:
                return None

    @property
    def bounds(self) -> dict[str, float]:
        """The largest probability of a right guess of each attacker, if the event is true."""
        match self.event:
            case SkellamRelease() | DiscreteGaussianRelease() as event:
                counts = isinstance(self.mechanism, NoisyCounts)
                along = counts_success(event, self.move) if counts else wide_success(event)
                return {ALONG_CANARY: along, LOW_BITS: largest_success(event)}
            case NoisyBitsRelease(contrast=contrast):
                return dict.fromkeys((ALONG_CANARY, LOW_BITS), bits_success(contrast, int(np.count_nonzero(self.move))))
            case _:
                return dict.fromkeys((ALONG_CANARY, LOW_BITS), largest_success(self.event))

    def says_present(self, total: Total) -> bool:
        """Say yes if the total went more than half of the way; of noisy bits, if enough of them are 1."""
        if isinstance(self.mechanism, NoisyBits):
            ones = total[self.move != 0].mean()
            return bool(ones > (self.mechanism.spread(self.honest) + 0.5) / 2)
        return bool((total - self.without) @ self.move > 0.5 * (self.move @ self.move))

    def low_bits_say(self, total: Total) -> bool:
        """Say yes if fewer entries are out of the noise's reach with the unit than without; toss a coin if as many."""
        deviation = self.mechanism.deviation(self.domain, len(self.silos))
        places = self.move != 0
        absent, present = (
            unreachable_total(total[places], known[places], deviation)
            for known in (self.without, self.without + self.move)
        )
        return coin() if absent == present else present < absent

    def proven(self, success: float) -> float:
        """Epsilon that such success proves of all releases; where the noise is (nearly) normal, by its shape."""
        if self.noise_size is None:
            return epsilon_of_success(success, self.delta)
        mu = 2 * float(stats.norm.ppf(success))
        return gaussian_epsilon(math.sqrt(self.releases) * mu, self.delta) if 0 < mu < math.inf else max(0.0, mu)


def audit_release(
    subject: ReleaseSubject,
    *,
    part: str,
    trials: int,
    seconds: float = math.inf,
    tell: Callable[[int], None] | None = None,
) -> Finding:
    """Audit up to so many sessions, or as many as these seconds allow; fewer where a fault is plain before."""
    noise = subject.noise_size
    guesses = Guesses(subject.bounds, looks_until(trials), ALPHA if noise is None else BESIDE_SIZE)
    began = told = time.monotonic()
    while True:
        present = coin()
        total = subject.total(present=present)
        guesses.add(present, {ALONG_CANARY: subject.says_present(total), LOW_BITS: subject.low_bits_say(total)})
        if noise is not None:
            noise.add(total - subject.without - subject.move * present)
        if tell is not None and time.monotonic() - told > TOLD_EVERY_SECONDS:
            told = time.monotonic()
            tell(guesses.steps)
        if guesses.found or guesses.steps >= trials or time.monotonic() - began > seconds:
            break
    guesses.finish()
    booked = counted([subject.event] * subject.releases, subject.delta)
    proven = subject.proven(guesses.least_success())
    spent = time.monotonic() - began
    found = Finding(part, subject.event, guesses, noise, proven, booked.epsilon, subject.delta, spent)
    return replace(found, booked=BookedAs(subject.event, subject.releases, booked.accountant))
