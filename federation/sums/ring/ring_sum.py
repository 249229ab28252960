"""The secure-sum game, as it is taught: a masked running total goes from silo to silo, and back to the first.

1. advertise: every silo signs a public key for what is sealed to it.
2. pass: the first silo on the roster adds a random vector to its own and seals the result to the second, who adds its
   own vector and seals it to the third, and so on, until the last seals it to the first.
3. open: the first silo subtracts its random vector and sends the sum.

The scheme is for teaching, and `exposure` says how little it withstands. Why: the difference between what a silo
received from the one before it and what it passed to the next is its vector. The first silo alone opens the total, so
nobody can check what it says. The silos work one after the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.masked.words import require_integers
from siloseal.federation.sums.ring.sides import RingAggregator, RingSilo, require_ring
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, Session, Vector


@dataclass(frozen=True)
class RingSum:
    """The secure-sum game. See the module's text."""

    name: ClassVar[str] = "ring"
    exposure: ClassVar[Exposure] = Exposure(
        aggregator_learns="the sum",
        silo_learns="the first on the roster the sum, before the aggregator; the others nothing",
        colluders="one",
        if_more_collude="the two silos around a third learn its vector, and need no aggregator for it",
        if_a_silo_is_silent="every silo must stay until its last message, or there is an error and no sum",
        hides_contributions=True,
        may_collude=lambda silos: 1,
        shows_silos_the_exact_sum=True,
    )
    sums_modulo: ClassVar[bool] = True

    def admit(self, domain: Domain, silos: int) -> None:
        """Require at least three silos, and a modulus that holds their sum."""
        self.fewest(silos)
        require_integers(domain, silos)

    def fewest(self, silos: int) -> int:
        """Number of all silos: each passes the total on."""
        require_ring(silos)
        return silos

    def grid(self, domain: Domain) -> float:
        """Always 0: integers are exact."""
        return 0.0

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """Always 0: masks are uniform."""
        return 0.0

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Return no rows: a sum rests on nothing but what its exposure says."""
        return {}

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        return RingSilo(session, me, contribution, randomness)

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return RingAggregator(session)
