"""Noise that travels with a sum: what a mechanism offers, and its composition with any secure sum.

A mechanism turns a silo's real vector into the inner sum's domain, noise included, and the inner total back. Because
`NoisySum` is itself a `SecureSum`, distributed privacy is a composition and not a class per pair.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from federation.accounting import Event, GaussianRelease
from federation.errors import DomainError
from federation.identity import Identity
from federation.randomness import Randomness
from federation.secure_sum import AggregatorSide, SecureSum, SiloSide, Sum
from federation.session import Domain, RealDomain, Session, Vector

GRID_BITS = 12  # of the noise are kept below its deviation; the sampler has twice as many


class Mechanism(Protocol):
    """Clip, round, noise; the way back; and what it costs."""

    @property
    def name(self) -> str:
        """Mechanism and parameters as one string: part of the session's digest."""

    def domain(self, outer: RealDomain, silos: int) -> Domain:
        """What the inner sum must carry so that noised vectors of `outer`, and the total of so many, fit."""

    def grid(self, outer: RealDomain) -> float:
        """The distance of the points that it rounds entries to."""

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """One silo's noised vector, in the inner domain. The session is the outer one."""

    def decode(self, total: Sum, session: Session) -> Sum:
        """The inner total, back in real units."""

    def event(self, honest: int) -> Event:
        """What one release costs while at least this many contributors are honest."""


@dataclass(frozen=True)
class GaussianAtSilo:
    """Each silo adds all the noise that its own guarantee needs, so it trusts nobody.

    `sensitivity` is how far one unit moves the vector in L2. The sum of n silos carries n times the variance.
    """

    sensitivity: float
    noise_multiplier: float

    @property
    def name(self) -> str:
        """Part of the session's digest."""
        return f"gaussian_at_silo(sensitivity={self.sensitivity!r}, noise_multiplier={self.noise_multiplier!r})"

    def domain(self, outer: RealDomain, silos: int) -> Domain:
        """Ten standard deviations of head room: the sampler's tail ends at 9.4."""
        return RealDomain(outer.length, outer.bound + 10.0 * self._deviation)

    def grid(self, outer: RealDomain) -> float:
        """The same for every domain."""
        return self._grid

    def encode(self, vector: NDArray[np.float64], session: Session, randomness: Randomness) -> Vector:
        """The vector plus noise from the silo's own randomness, rounded to a grid far coarser than its floats.

        The last bits of a floating-point sum tell which numbers were added (Mironov 2012): without rounding, entries of
        a class with no example would be bare noise, and visibly so. Rounding hides that; it does not prove it away.
        """
        noised = vector + self._deviation * randomness.normals(vector.size).astype(np.float64)
        return np.rint(noised / self._grid) * self._grid

    def decode(self, total: Sum, session: Session) -> Sum:
        """Nothing to undo."""
        return total

    def event(self, honest: int) -> Event:
        """The same for any number of honest contributors: a silo relies on its own noise only."""
        return GaussianRelease(self.noise_multiplier)

    @property
    def _deviation(self) -> float:
        return self.sensitivity * self.noise_multiplier

    @property
    def _grid(self) -> float:
        """A power of two, `GRID_BITS` below the noise."""
        return float(2.0 ** (math.floor(math.log2(self._deviation)) - GRID_BITS))


@dataclass(frozen=True)
class NoisySum:
    """A mechanism over an inner sum, as one more `SecureSum`. Its sessions are over real vectors."""

    mechanism: Mechanism
    inner: SecureSum

    @property
    def name(self) -> str:
        """Both names: both are agreed."""
        return f"{self.mechanism.name} over {self.inner.name}"

    @property
    def hides_contributions(self) -> bool:
        """What the inner sum hides."""
        return self.inner.hides_contributions

    def admit(self, domain: Domain, silos: int) -> None:
        """What the inner sum says of the noised domain."""
        self.inner.admit(self.mechanism.domain(_real(domain), silos), silos)

    def fewest(self, silos: int) -> int:
        """As many as the inner sum needs."""
        return self.inner.fewest(silos)

    def grid(self, domain: Domain) -> float:
        """The coarser one of the mechanism's and the inner sum's; neither depends on how many silos there are."""
        outer = _real(domain)
        return max(self.mechanism.grid(outer), self.inner.grid(self.mechanism.domain(outer, 1)))

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """What the inner sum rests on; the mechanism's own noise is in the ledger."""
        return self.inner.describe(self.mechanism.domain(_real(domain), silos), silos)

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """The inner side, over the noised vector. The ledger is charged by the caller, before this."""
        vector = _real(session.domain).check(contribution)
        encoded = self.mechanism.encode(vector, session, randomness)
        return self.inner.silo(self._inner_session(session), me, encoded, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """The inner side, whose total is decoded."""
        return _DecodingAggregator(self.inner.aggregator(self._inner_session(session)), self.mechanism, session)

    def _inner_session(self, session: Session) -> Session:
        # The scheme's name still holds both, so the digest binds the mechanism too.
        return replace(session, domain=self.mechanism.domain(_real(session.domain), len(session.roster)))


class _DecodingAggregator:
    def __init__(self, inner: AggregatorSide, mechanism: Mechanism, session: Session) -> None:
        self._inner, self._mechanism, self._session = inner, mechanism, session

    def open(self) -> Mapping[str, bytes]:
        return self._inner.open()

    @property
    def fewest(self) -> int:
        return self._inner.fewest

    def check(self, silo: str, reply: bytes) -> None:
        self._inner.check(silo, reply)

    def advance(self, replies: Mapping[str, bytes]) -> Mapping[str, bytes] | Sum:
        step = self._inner.advance(replies)
        return self._mechanism.decode(step, self._session) if isinstance(step, Sum) else step


def _real(domain: Domain) -> RealDomain:
    if not isinstance(domain, RealDomain):
        raise DomainError(f"a mechanism noises real vectors, but the session's domain is {domain}")
    return domain
