"""The secure-sum game, as it is taught: a masked running total goes from silo to silo, and back to the first.

1. advertise: every silo signs a public key for what is sealed to it.
2. pass: the first silo on the roster adds a random vector to its own and seals the result to the second, who adds its
   own vector and seals it to the third, and so on, until the last seals it to the first.
3. open: the first silo subtracts its random vector and sends the sum.

The scheme is for teaching, and `exposure` says how little it withstands. Why: the difference between what a silo
received from the one before it and what it passed to the next is its vector. The first silo alone opens the total, so
nobody can check what it says. The silos work one after the other.
"""

from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import EVERYONE_MUST_STAY, Exposure
from siloseal.federation.sums.masked.masked_sum import MaskedSum
from siloseal.federation.sums.ring.sides import RingAggregator, RingSilo, require_ring
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, Session, Vector


@dataclass(frozen=True)
class RingSum(MaskedSum):
    """The secure-sum game. See the module's text."""

    name: ClassVar[str] = "ring"
    exposure: ClassVar[Exposure] = Exposure(
        aggregator_learns="the sum",
        silo_learns="the first on the roster the sum, before the aggregator; the others nothing",
        colluders="one",
        if_more_collude="the two silos around a third learn its vector, and need no aggregator for it",
        if_a_silo_is_silent=EVERYONE_MUST_STAY,
        hides_contributions=True,
        may_collude=lambda silos: 1,
        shows_silos_the_exact_sum=True,
        baseline=True,
    )

    def fewest(self, silos: int) -> int:
        """Number of all silos: each passes the total on."""
        require_ring(silos)
        return silos

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Always 0: masks are uniform."""
        return 0.0

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        return RingSilo(session, me, contribution, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return RingAggregator(session)
