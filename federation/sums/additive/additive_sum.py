"""Additive sharing over Z_{2^64}: every silo splits its vector into a share for each, and each adds up what it holds.

1. advertise: every silo signs a public key for what is sealed to it.
2. share: it draws a seed for each other silo, whose expansion is that silo's share, and seals it to it; its own share
   is the vector less all of these, so that no share has to travel as a vector.
3. add: it sends the sum of its own share and of the shares that it was given.

Why the lines of `exposure` hold: any n - 1 shares of a vector are independent of it, so whoever holds fewer than all of
them needs the sum for anything. And a silo's share of every other vector exists nowhere else, so nobody can stand in
for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.additive.sides import AdditiveAggregator, AdditiveSilo, shared_ring
from siloseal.federation.sums.exposure import EVERYONE_MUST_STAY, Exposure
from siloseal.federation.sums.masked.masked_sum import MaskedSum
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, Session, Vector
from siloseal.federation.sums.threshold import require_two_silos


@dataclass(frozen=True)
class AdditiveSum(MaskedSum):
    """Additive sharing over Z_{2^64}. See the module's text."""

    name: ClassVar[str] = "additive"
    exposure: ClassVar[Exposure] = Exposure(
        aggregator_learns="the sum",
        silo_learns="nothing",
        colluders="n - 2, lying or not",
        if_more_collude="they subtract their own vectors from the sum, which leaves the last silo's",
        if_a_silo_is_silent=EVERYONE_MUST_STAY,
        hides_contributions=True,
        may_collude=lambda silos: max(silos - 2, 0),
    )

    def fewest(self, silos: int) -> int:
        """Number of all silos: each holds a share of every vector."""
        require_two_silos(silos)
        return silos

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Always 0: shares are uniform."""
        return 0.0

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what a sum rests on."""
        return {
            "shares": f"{silos} of each vector over Z_2^64; a seed of 32 bytes travels for all but the silo's own, and "
            f"{shared_ring(domain, silos).bits} bits an entry for the silo's part of the sum",
        }

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        return AdditiveSilo(session, me, contribution, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return AdditiveAggregator(session)
