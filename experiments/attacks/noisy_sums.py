"""One trial of an audit of distributed noise: silos sum zeros under a mechanism, and one of them a canary or not.

Every silo adds its part of the noise and all are honest, so that just the noise is there that the event counts. The
attacker sees the total, as a secure sum would show it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.mechanism import Mechanism
from siloseal.federation.privacy.mechanisms.calibration import Demand
from siloseal.federation.privacy.mechanisms.lattice_calibration import calibrated_lattice
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.noisy_sum import NoisySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.session import RealDomain

SILOS = 3
DOMAIN = RealDomain(length=20, bound=1.0)
CLIP_NORM = 1.0

SplitNoise = Literal["ddg", "skellam"]


@dataclass(frozen=True)
class NoisySums:
    """Sums of whole vectors within the clip norm, with the least noise that this epsilon takes."""

    noise: SplitNoise
    epsilon: float
    delta: float

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism for one release and three honest silos."""
        demand = Demand(self.epsilon, self.delta, releases=1, silos=SILOS, honest=SILOS, length=DOMAIN.length)
        return calibrated_lattice(self.noise, demand, bits=None, sensitivity=CLIP_NORM)

    @cached_property
    def booked_epsilon(self) -> float:
        """The epsilon that a ledger counts for one release."""
        return epsilon_of([self.mechanism.event(DOMAIN, SILOS)], self.delta)

    def run_trial(self, *, canary: bool) -> float:
        """Run one session and score it: the part of its total along the canary, less half the canary's length."""
        vectors = [self._canary * canary, *[0 * self._canary] * (SILOS - 1)]
        total = sum_in_process(NoisySum(self.mechanism, PlainSum()), vectors, domain=DOMAIN).total
        return float(np.dot(total, self._canary)) / CLIP_NORM**2 - 0.5

    @cached_property
    def _canary(self) -> NDArray[np.float64]:
        """Return the canary: as long as the clip norm allows, the same in every entry."""
        return np.full(DOMAIN.length, CLIP_NORM / np.sqrt(DOMAIN.length)) * (1 - 1e-9)
