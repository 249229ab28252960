"""The two sides of additive sharing."""

from collections.abc import Mapping
from enum import IntEnum

from siloseal.federation.errors import MessageError
from siloseal.federation.randomness import Randomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import ADVERTISEMENT_BYTES, check_advertisements
from siloseal.federation.sums.masked.silo_side import MaskedSilo
from siloseal.federation.sums.masked.words import WordRing, checked_integers, ring_for, to_total
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, Step, pieces, read_pieces
from siloseal.federation.sums.sealing import SEAL_BYTES
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Domain, Session, Vector
from siloseal.federation.transport.wire.codec import FRAMING_BYTES

SEED_BYTES = 32


class Round(IntEnum):
    """The rounds, in order."""

    ADVERTISE = 0
    SHARE = 1
    ADD = 2


def shared_ring(domain: Domain, silos: int) -> WordRing:
    """Words of 64 bits. Only the bits that the sum needs travel: the others would tell more than the sum."""
    return WordRing(domain.length, ring_for(domain, silos).bits, wide=True)


class AdditiveSilo(MaskedSilo):
    """One silo's part in additive sharing."""

    def __init__(self, session: Session, me: Identity, contribution: Vector, randomness: Randomness) -> None:
        ring = shared_ring(session.domain, len(session.roster))
        super().__init__(session, me, checked_integers(session, contribution), randomness, ring)

    @property
    def _steps(self) -> Mapping[int, Step]:
        return {Round.ADVERTISE: self._advertise, Round.SHARE: self._share, Round.ADD: self._add}

    def _share(self, body: bytes) -> bytes:
        roster, me = self._session.roster, self._me.name
        keys = self._hear_keys(body, known=roster, fewest=len(roster), keys=1)
        sealed = dict[str, bytes]()
        for silo in keys:
            if silo != me:
                seed = self._randomness.bits(SEED_BYTES)
                self._memory.held.add(silo=silo, data=seed)
                sealed[silo] = self._seal(silo, keys[silo][0], seed)
        return pieces(sealed)

    def _add(self, body: bytes) -> bytes:
        """Add up the silo's own share and the shares that everyone else gave it."""
        keys, words = self._known_keys(), self._words
        others = set(self._session.roster) - {self._me.name}
        sealed = read_pieces(body, known=others, fewest=len(others))
        received = [self._unseal(silo, keys[silo][0], one, size=SEED_BYTES) for silo, one in sealed.items()]
        self._ring.add_masks(words, [(seed, 1) for seed in received])
        self._ring.add_masks(words, [(piece.data, -1) for piece in self._memory.held])
        self._drop()
        return self._ring.pack(words)


class AdditiveAggregator(AggregatorRounds):
    """The aggregator's part: it carries seeds that it cannot read, and adds."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._ring = shared_ring(session.domain, len(session.roster))

    def _needed(self, number: int) -> int:
        return len(self._session.roster)

    def _largest(self, number: int) -> int:
        sealed_bytes = len(self._session.roster) * (SEED_BYTES + SEAL_BYTES + FRAMING_BYTES)
        sizes = (ADVERTISEMENT_BYTES, sealed_bytes, self._ring.packed_bytes)
        return sizes[number] + FRAMING_BYTES

    def _check(self, number: int, silo: str, body: bytes) -> None:
        match number:
            case Round.ADVERTISE:
                check_advertisements(self._session, {silo: body}, keys=1)
            case Round.SHARE:
                self._sealed_seeds(silo, body)
            case Round.ADD:
                self._ring.require_packed(body)

    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        match number:
            case Round.ADVERTISE:
                said = self._bodies(number, replies)
                check_advertisements(self._session, said, keys=1)  # all together: no key twice
                return self._relay(Round.SHARE, said)
            case Round.SHARE:
                sent = {silo: self._sealed_seeds(silo, self._body(number, reply)) for silo, reply in replies.items()}
                bodies = {
                    silo: pieces({other: sealed[silo] for other, sealed in sent.items() if other != silo})
                    for silo in sent
                }
                return self._ask(Round.ADD, bodies)
            case _:
                total = self._ring.zeros()
                for reply in replies.values():
                    total += self._ring.unpack(self._body(number, reply))
                return to_total(self._session.domain, self._ring, total, tuple(sorted(replies)))

    def _sealed_seeds(self, silo: str, body: bytes) -> dict[str, bytes]:
        others = set(self._session.roster) - {silo}
        sealed = read_pieces(body, known=others, fewest=len(others))
        if any(len(one) != SEED_BYTES + SEAL_BYTES for one in sealed.values()):
            raise MessageError(f"{silo} sealed seeds of another size than {SEED_BYTES + SEAL_BYTES} bytes")
        return sealed
