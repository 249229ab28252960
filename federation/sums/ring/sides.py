"""The two sides of the secure-sum game: first all advertise, then each silo has its turn, and the first one opens."""

from collections.abc import Mapping

from siloseal.federation.errors import DomainError, MessageError
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import ADVERTISEMENT_BYTES, check_advertisements
from siloseal.federation.sums.masked.silo_side import MaskedSilo, MaskSeed
from siloseal.federation.sums.masked.words import Words, checked_integers, ring_for, to_total
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, Step, pieces
from siloseal.federation.sums.sealing import SEAL_BYTES
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session, Vector
from siloseal.federation.transport.wire import ring_pb2 as pb
from siloseal.federation.transport.wire.codec import FRAMING_BYTES, decode

ADVERTISE, FIRST = 0, 1
"""Rounds in which all advertise, and in which the first silo begins. One round for each silo follows."""


class RingSilo(MaskedSilo):
    """One silo's part in the secure-sum game."""

    def __init__(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> None:
        require_ring(len(session.roster))
        ring = ring_for(session.domain, len(session.roster))
        super().__init__(session, me, checked_integers(session, contribution), randomness, ring)

    @property
    def _steps(self) -> Mapping[int, Step]:
        place, silos = self._session.places[self._me.name], len(self._session.roster)
        if place == 0:
            return {ADVERTISE: self._advertise, FIRST: self._begin, silos + FIRST: self._open}
        return {ADVERTISE: self._advertise, place + FIRST: self._pass}

    def _begin(self, body: bytes) -> bytes:
        """Hide the vector under a mask of its own, and send it on."""
        if self._turn(body).total:
            raise MessageError("the first silo begins the sum, but a total came to it already")
        self._seed = MaskSeed(self._randomness.bits(32))
        self._ring.add_mask(self._words, self._own_seed(), 1)
        return self._send()

    def _pass(self, body: bytes) -> bytes:
        """Add the vector to what the silo before sealed for this one."""
        self._words += self._received(self._turn(body).total)
        sent = self._send()
        self._drop()
        return sent

    def _open(self, body: bytes) -> bytes:
        """Take the mask off the total of all."""
        words = self._received(decode(pb.RingTurn, body).total)
        self._ring.add_mask(words, self._own_seed(), -1)
        self._drop()
        return self._ring.pack(words)

    def _turn(self, body: bytes) -> pb.RingTurn:
        turn = decode(pb.RingTurn, body)
        around = {self._neighbour(-1), self._me.name, self._neighbour(1)}
        self._hear_keys(turn.advertised, known=around, fewest=len(around), keys=1)
        return turn

    def _received(self, sealed: bytes) -> Words:
        before = self._neighbour(-1)
        packed = self._unseal(before, self._known_keys()[before][0], sealed, size=self._ring.packed_bytes)
        return self._ring.unpack(packed)

    def _send(self) -> bytes:
        after = self._neighbour(1)
        return self._seal(after, self._known_keys()[after][0], self._ring.pack(self._words))

    def _neighbour(self, distance: int) -> str:
        return neighbour(self._session, self._me.name, distance)


class RingAggregator(AggregatorRounds):
    """The aggregator's part: it carries the sealed total round."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._ring = ring_for(session.domain, len(session.roster))
        self._advertised: Bodies = {}

    def _needed(self, number: int) -> int:
        return len(self._session.roster) if number == ADVERTISE else 1

    def _largest(self, number: int) -> int:
        size = ADVERTISEMENT_BYTES if number == ADVERTISE else self._ring.packed_bytes + SEAL_BYTES
        return size + FRAMING_BYTES

    def _check(self, number: int, silo: str, body: bytes) -> None:
        if number == ADVERTISE:
            check_advertisements(self._session, {silo: body}, keys=1)
        elif number > len(self._session.roster):
            self._ring.require_packed(body)
        elif len(body) != self._ring.packed_bytes + SEAL_BYTES:
            raise MessageError(
                f"{silo} passed on {len(body)} bytes, expected {self._ring.packed_bytes} under a seal of {SEAL_BYTES}"
            )

    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        roster, said = self._session.roster, self._bodies(number, replies)
        if number == ADVERTISE:
            check_advertisements(self._session, said, keys=1)  # all together: no key twice
            self._advertised = said
            return self._pass_on(FIRST, b"")
        (total,) = said.values()
        if number > len(roster):
            return to_total(self._session.domain, self._ring, self._ring.unpack(total), tuple(sorted(roster)))
        return self._pass_on(number + 1, total)

    def _pass_on(self, number: int, total: bytes) -> Mapping[str, bytes]:
        roster = self._session.roster
        silo = roster[(number - FIRST) % len(roster)]
        around = {neighbour(self._session, silo, distance) for distance in (-1, 0, 1)}
        advertised = pieces({other: self._advertised[other] for other in around})
        return self._ask(number, {silo: pb.RingTurn(advertised=advertised, total=total).SerializeToString()})


def require_ring(silos: int) -> None:
    """Raise `DomainError` below three silos: each would stand on both sides of the other."""
    if silos < 3:
        raise DomainError(
            f"a ring of {silos} hides nothing: a silo's neighbours on both sides are the same; take three silos or more"
        )


def neighbour(session: Session, silo: str, distance: int) -> str:
    """Return the silo that stands `distance` places further on the roster, which is the ring."""
    return session.roster[(session.places[silo] + distance) % len(session.roster)]
