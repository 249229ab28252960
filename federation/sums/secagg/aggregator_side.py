"""The aggregator's part: it relays sealed shares, adds masked vectors, and removes the masks that are left.

The key of a silo that never uploaded removes the masks that others share with it. The seed of a silo that did upload
removes that silo's own mask. The aggregator asks for one of the two secrets of each silo, and would not get the other.
"""

from collections import defaultdict
from collections.abc import Mapping

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.masked.advertisement import ADVERTISEMENT_BYTES, check_advertisements
from siloseal.federation.sums.masked.words import Sign, Words, to_total
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, pieces, read_pieces
from siloseal.federation.sums.sealing import SEAL_BYTES
from siloseal.federation.sums.secagg.plan import Plan, Round
from siloseal.federation.sums.secagg.shares import SECRET_BYTES, join_key, join_seed, mask_between, mask_sign
from siloseal.federation.sums.secagg.survivors import check_survivors, to_bits
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import secagg_pb2 as pb
from siloseal.federation.transport.wire.codec import FRAMING_BYTES, decode

_SEALED_BYTES = 2 * SECRET_BYTES + SEAL_BYTES


class SecAggAggregator(AggregatorRounds):
    """The aggregator's side. See the module's text."""

    def __init__(self, session: Session, plan: Plan) -> None:
        super().__init__(session)
        self._plan = plan
        self._advertised: Bodies = {}
        self._mask_keys = dict[str, bytes]()  # public
        self._seed_digests = dict[str, bytes]()  # of every silo whose masks others have added
        self._total = plan.ring.zeros()
        self._survivors: tuple[str, ...] = ()
        self._bits = b""

    def _needed(self, number: int) -> int:
        return self._plan.fewest if number < Round.CONFIRM else self._plan.fewest_openers

    def _largest(self, number: int) -> int:
        most = self._plan.most_near
        sizes = {
            Round.ADVERTISE: ADVERTISEMENT_BYTES,
            Round.SHARE: most * (_SEALED_BYTES + FRAMING_BYTES),
            Round.UPLOAD: self._plan.ring.packed_bytes,
            Round.CONFIRM: 64,
            Round.REVEAL: most * (SECRET_BYTES + FRAMING_BYTES),
        }
        return sizes[Round(number)] + FRAMING_BYTES

    def _check(self, number: int, silo: str, body: bytes) -> None:
        match number:
            case Round.ADVERTISE:
                check_advertisements(self._session, {silo: body}, keys=2)
            case Round.SHARE:
                self._sealed_shares(silo, body)
            case Round.UPLOAD:
                self._plan.ring.require_packed(body)
            case Round.CONFIRM:
                check_survivors(self._session, silo, self._bits, body)
            case Round.REVEAL:
                self._shares(silo, body)

    def _advance(self, number: int, replies: Bodies) -> Mapping[str, bytes] | Sum:
        steps = (self._keys, self._relay_shares, self._uploads, self._confirmed, self._unmask)
        return steps[number](replies)

    def _keys(self, replies: Bodies) -> Mapping[str, bytes]:
        self._advertised = self._bodies(Round.ADVERTISE, replies)
        keys = check_advertisements(self._session, self._advertised, keys=2)  # all together: no key twice
        self._mask_keys = {silo: key for silo, (_, key) in keys.items()}
        return self._tell_near(Round.SHARE, self._advertised)

    def _relay_shares(self, replies: Bodies) -> Mapping[str, bytes]:
        """Give each silo the shares that its neighbours sealed for it."""
        sealed = defaultdict[str, dict[str, bytes]](dict)
        for silo, reply in replies.items():
            shares = self._sealed_shares(silo, self._body(Round.SHARE, reply))
            self._seed_digests[silo] = shares.seed_digest
            for piece in shares.sealed:
                sealed[piece.silo][silo] = piece.data
        return self._ask(Round.UPLOAD, {silo: pieces(sealed[silo]) for silo in replies})

    def _uploads(self, replies: Bodies) -> Mapping[str, bytes]:
        for silo, reply in replies.items():
            self._add_upload(silo, self._body(Round.UPLOAD, reply))
        self._survivors = tuple(sorted(replies))
        self._bits = to_bits(self._session, self._survivors)
        return self._ask(Round.CONFIRM, dict.fromkeys(self._survivors, self._bits))

    def _add_upload(self, silo: str, body: bytes) -> None:
        self._total += self._plan.ring.unpack(body)

    def _confirmed(self, replies: Bodies) -> Mapping[str, bytes]:
        return self._tell_near(Round.REVEAL, self._bodies(Round.CONFIRM, replies))

    def _unmask(self, replies: Bodies) -> Sum:
        words = self._unmasked(replies)
        return to_total(self._session.domain, self._plan.ring, words, self._survivors)

    def _unmasked(self, replies: Bodies) -> Words:
        """Return the sum of the survivors' words, from the shares that they revealed."""
        held = defaultdict[str, dict[str, bytes]](dict)
        for holder, reply in replies.items():
            for silo, share in self._shares(holder, self._body(Round.REVEAL, reply)).items():
                held[silo][holder] = share
        masks = list[tuple[bytes, Sign]]()
        for silo in self._seed_digests:
            masks += self._own_mask(silo, held[silo]) if silo in self._survivors else self._masks_with(silo, held[silo])
        self._plan.ring.add_masks(self._total, masks)
        return self._total

    def _own_mask(self, silo: str, held: Mapping[str, bytes]) -> list[tuple[bytes, Sign]]:
        return [(join_seed(self._session, silo, held, self._plan.threshold, self._seed_digests[silo]), -1)]

    def _masks_with(self, silo: str, held: Mapping[str, bytes]) -> list[tuple[bytes, Sign]]:
        """Return the survivors' masks with a silo that never came to cancel them, to be removed in its place."""
        session, public = self._session, self._mask_keys
        key = join_key(session, silo, held, self._plan.threshold, public[silo])
        others = set(self._plan.neighbours[silo]) & set(self._survivors)
        return [(mask_between(session, key, silo, other, public[other]), mask_sign(silo, other)) for other in others]

    def _sealed_shares(self, silo: str, body: bytes) -> pb.SecAggShares:
        """Return the silo's sealed shares: one for each neighbour that advertised, of the right size."""
        shares = decode(pb.SecAggShares, body)
        expected = [peer for peer in self._plan.neighbours[silo] if peer in self._advertised]
        addressed = {piece.silo: len(piece.data) for piece in shares.sealed}
        if len(shares.sealed) != len(expected) or addressed != dict.fromkeys(expected, _SEALED_BYTES):
            raise MessageError(
                f"{silo} sealed {len(shares.sealed)} shares, expected one of {_SEALED_BYTES} bytes for each of its "
                f"{len(expected)} neighbours that take part"
            )
        return shares

    def _shares(self, holder: str, body: bytes) -> dict[str, bytes]:
        """Return the holder's share of one secret of each neighbour that had sent it shares."""
        owners = [silo for silo in self._plan.near(holder) if silo in self._seed_digests]
        if not self._plan.complete:
            owners.remove(holder)
        revealed = read_pieces(body, known=owners, fewest=len(owners))
        if any(len(share) != SECRET_BYTES for share in revealed.values()):
            raise MessageError(f"{holder} revealed a share that is not of {SECRET_BYTES} bytes")
        return revealed

    def _tell_near(self, number: int, said: Bodies) -> Mapping[str, bytes]:
        """Tell each silo what it and its neighbours said. On the complete graph that is the same for all."""
        bodies, shared = dict[str, bytes](), dict[tuple[str, ...], bytes]()
        for silo in said:
            near = tuple(other for other in self._plan.near(silo) if other in said)
            if near not in shared:
                shared[near] = pieces({other: said[other] for other in near})
            bodies[silo] = shared[near]
        return self._ask(number, bodies)
