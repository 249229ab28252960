"""SecAgg (Bonawitz et al. 2017) and SecAgg+ (Bell et al. 2020): sums by masks that cancel, over integers.

1. advertise: every silo signs two public keys, one for sealed shares and one for masks.
2. share: it seals, to each neighbour, Shamir shares of its masking key and of the seed of a mask of its own.
3. upload: it sends its vector under its own mask and under one mask with each neighbour, which the other subtracts.
4. confirm: it signs whose uploads are in the sum.
5. reveal: once t of its neighbours have signed the same, it reveals its share of the seed of each neighbour in the sum,
   and of the masking key of each that dropped out before.

The aggregator removes the masks that are left. Why it learns no more than `exposure` says: it gets one of the two
secrets of each silo. The seed alone leaves the masks with others on the upload. The masking key alone leaves the silo's
own mask, so that an upload that comes too late stays hidden. SecAgg+ is the same on another graph: neighbours on a
random ring instead of everyone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.exposure import Exposure
from siloseal.federation.sums.masked.masked_sum import MaskedSum
from siloseal.federation.sums.masked.words import WordRing, checked_integers, ring_for
from siloseal.federation.sums.secagg.aggregator_side import SecAggAggregator
from siloseal.federation.sums.secagg.graph import Shape, complete, find_shape, harary, whole_silos
from siloseal.federation.sums.secagg.plan import Plan
from siloseal.federation.sums.secagg.silo_side import SecAggSilo
from siloseal.federation.sums.secure_sum import AggregatorSide, SiloSide
from siloseal.federation.sums.session import Domain, Session, Vector
from siloseal.federation.sums.threshold import may_pool, recovery_threshold, threshold_exposure

FEWEST_FOR_A_RING = 100
"""Fewest silos for a ring. Below it the degree would be close to all of them, and its statistics mean little."""


@dataclass(frozen=True)
class RandomRing:
    """The assumptions for which the ring's degree and threshold are found."""

    security_bits: int = 40
    correctness_bits: int = 30
    corrupt: float = 0.05
    dropout: float = 0.05

    def shape(self, silos: int) -> Shape:
        """Return degree and threshold for an aggregator that may lie about who dropped out."""
        return find_shape(
            silos,
            security_bits=self.security_bits,
            correctness_bits=self.correctness_bits,
            corrupt=self.corrupt,
            dropout=self.dropout,
        )


@dataclass(frozen=True)
class SecAggSum(MaskedSum):
    """SecAgg, or SecAgg+ on a ring. See the module's text."""

    threshold: int | None = None
    ring: RandomRing | None = None

    @property
    def exposure(self) -> Exposure:
        """The exposure: on the complete graph by the threshold, on a ring by its statistics."""
        complete, ring = threshold_exposure(self._threshold_among), self.ring
        if ring is None:
            return complete
        return replace(
            complete,
            colluders=f"a share of {ring.corrupt:g}, lying or not, picked before the ring is known, but with "
            f"probability 2^-{ring.security_bits}; below {FEWEST_FOR_A_RING} silos {complete.colluders}",
            if_more_collude=f"{complete.if_more_collude}; from {FEWEST_FOR_A_RING} silos on, so do silos that surround "
            "another on the ring",
            if_a_silo_is_silent=f"{complete.if_a_silo_is_silent}; from {FEWEST_FOR_A_RING} silos on, these are a "
            f"share of {ring.dropout:g}, and the sum fails to open with probability 2^-{ring.correctness_bits}",
            may_collude=self._may_collude,
        )

    @property
    def name(self) -> str:
        """The scheme's name, which is part of the session's digest."""
        if self.ring is None:
            return f"secagg(threshold={self.threshold or 'two thirds'})"
        ring = self.ring
        return (
            f"secagg_plus(security_bits={ring.security_bits}, correctness_bits={ring.correctness_bits}, "
            f"corrupt={ring.corrupt}, dropout={ring.dropout})"
        )

    def admit(self, domain: Domain, silos: int) -> None:
        """Require at least two silos, a graph for this many, and a modulus that holds their sum."""
        super().admit(domain, silos)
        if self._on_ring(silos) is not None:
            self._shape(silos)

    def fewest(self, silos: int) -> int:
        """The threshold; on a ring all but the share that may drop out."""
        if (ring := self._on_ring(silos)) is not None:
            return silos - whole_silos(ring.dropout, silos)
        return self._threshold_among(silos)

    def statistical_distance(self, domain: Domain, silos: int) -> float:
        """The probability that a ring's order surrounds a silo by corrupted ones; 0 on the complete graph."""
        ring = self._on_ring(silos)
        return 0.0 if ring is None else 2.0**-ring.security_bits

    def describe(self, domain: Domain, silos: int) -> Mapping[str, str]:
        """Describe what a sum rests on, and what it costs a silo on the wire."""
        ring, shape, words = self._on_ring(silos), self._shape(silos), ring_for(domain, silos)
        around = "its neighbours on a random ring" if ring else "everyone else"
        return {
            "modulus": f"2^{words.bits}: {words.bits} bits an entry travel",
            "masks a silo": f"{shape.degree} with {around}, and one of its own; AES-256 in counter mode",
            "threshold": f"{shape.threshold} of {shape.degree + (ring is None)} shares open one secret of a silo",
        }

    def silo(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> SiloSide:
        """Return the side of the silo with this identity."""
        return SecAggSilo(session, me, checked_integers(session, contribution), randomness, self.plan(session))

    def aggregator(self, session: Session) -> AggregatorSide:
        """Return the aggregator's side."""
        return SecAggAggregator(session, self.plan(session))

    def plan(self, session: Session, ring: WordRing | None = None) -> Plan:
        """Return the plan, the same for everyone; over the session's domain, or over other words that it adds up."""
        return _plan(self, session, ring or ring_for(session.domain, len(session.roster)))

    def _may_collude(self, silos: int) -> int:
        if (ring := self._on_ring(silos)) is not None:
            return whole_silos(ring.corrupt, silos)
        return may_pool(silos, self._threshold_among(silos))

    def _threshold_among(self, silos: int) -> int:
        return recovery_threshold(silos, self.threshold)

    def _on_ring(self, silos: int) -> RandomRing | None:
        return self.ring if silos >= FEWEST_FOR_A_RING else None

    def _shape(self, silos: int) -> Shape:
        ring = self._on_ring(silos)
        return Shape(silos - 1, self._threshold_among(silos)) if ring is None else ring.shape(silos)


@lru_cache(maxsize=8)
def _plan(scheme: SecAggSum, session: Session, ring: WordRing) -> Plan:
    """Return the plan. It is kept, so that a thousand silos in one process draw their graph once."""
    silos = len(session.roster)
    shape, on_ring = scheme._shape(silos), scheme._on_ring(silos) is not None
    return Plan(
        neighbours=harary(session.roster, shape.degree, session.id) if on_ring else complete(session.roster),
        complete=not on_ring,
        threshold=shape.threshold,
        ring=ring,
        fewest=max(session.quorum, scheme.fewest(silos)),
        fewest_openers=scheme.fewest(silos),
    )
