"""Where a scheme's messages bring a silo what other silos advertised, or sealed for it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from siloseal.federation.sums.additive.sides import Round as AdditiveRound
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.ring.sides import FIRST
from siloseal.federation.sums.secagg.plan import Round as SecAggRound
from siloseal.federation.sums.secure_sum import SecureSum
from siloseal.federation.transport.wire import joint_key_pb2, one_key_pb2, ring_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode
from tests.federation.sums.joint_key.rounds import COMMIT_CIPHERTEXT

from .schemes import ADDITIVE, CKKS, JOINT_KEY, PAILLIER, RING, ROSTER, SECAGG, SECAGG_PLUS, STOCK_CKKS

Carried = Iterable[tuple[str, bytes]]
"""Pieces with the silo that each is said to come from; a list may name a silo twice."""


@dataclass(frozen=True)
class Carrier:
    """One message of a scheme, to this silo in this round, and the pieces in it."""

    scheme: SecureSum
    number: int
    silo: str
    read: Callable[[str, bytes], dict[str, bytes]]
    """Pieces of a message to this silo, by the silo that they come from."""
    write: Callable[[str, bytes, Carried], bytes]
    """The same message with other pieces."""

    def __str__(self) -> str:
        return f"{self.scheme.name}, round {self.number}, {self.silo}"


def pieces_of(silo: str, body: bytes) -> dict[str, bytes]:
    """A message that is a list of pieces."""
    return {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, body).pieces}


def of_pieces(silo: str, body: bytes, carried: Carried) -> bytes:
    """The list with other pieces."""
    return sums_pb2.Pieces(
        pieces=[sums_pb2.Piece(silo=sender, data=data) for sender, data in carried]
    ).SerializeToString()


def neighbours_of(silo: str, body: bytes) -> dict[str, bytes]:
    """Advertisements in a turn of the ring."""
    return pieces_of(silo, decode(ring_pb2.RingTurn, body).advertised)


def of_neighbours(silo: str, body: bytes, carried: Carried) -> bytes:
    """The turn with other advertisements."""
    return ring_pb2.RingTurn(
        advertised=of_pieces(silo, b"", carried), total=decode(ring_pb2.RingTurn, body).total
    ).SerializeToString()


def total_of(silo: str, body: bytes) -> dict[str, bytes]:
    """The total that the silo before has sealed."""
    return {ROSTER[ROSTER.index(silo) - 1]: decode(ring_pb2.RingTurn, body).total}


def of_total(silo: str, body: bytes, carried: Carried) -> bytes:
    """The turn with another total."""
    ((_, total),) = carried
    return ring_pb2.RingTurn(advertised=decode(ring_pb2.RingTurn, body).advertised, total=total).SerializeToString()


def key_of_the_leader(silo: str, body: bytes) -> dict[str, bytes]:
    """The one key, sealed by the silo that drew it."""
    return {ROSTER[0]: decode(one_key_pb2.SealedKey, body).sealed}


def of_the_leader(silo: str, body: bytes, carried: Carried) -> bytes:
    """The same from the leader, with another key under its seal."""
    ((_, sealed),) = carried
    return one_key_pb2.SealedKey(
        advertisement=decode(one_key_pb2.SealedKey, body).advertisement, sealed=sealed
    ).SerializeToString()


def seed_shares(silo: str, body: bytes) -> dict[str, bytes]:
    """Shares of the others' seeds, each in what its silo revealed to all."""
    reveals = {
        sender: decode(joint_key_pb2.KeyReveal, data)
        for sender, data in pieces_of(silo, body).items()
        if sender != silo
    }
    return {sender: pieces_of(silo, _list(reveal.sealed))[silo] for sender, reveal in reveals.items()}


def of_seed_shares(silo: str, body: bytes, carried: Carried) -> bytes:
    """What the silos revealed, with other shares for this silo."""
    said, shares = pieces_of(silo, body), dict(carried)
    for sender, share in shares.items():
        reveal = decode(joint_key_pb2.KeyReveal, said[sender])
        for piece in reveal.sealed:
            if piece.silo == silo:
                piece.data = share
        said[sender] = reveal.SerializeToString()
    return of_pieces(silo, b"", said.items())


def _list(listed: Iterable[sums_pb2.Piece]) -> bytes:
    return sums_pb2.Pieces(pieces=listed).SerializeToString()


ADVERTISED = [
    *(Carrier(scheme, SecAggRound.SHARE, "north", pieces_of, of_pieces) for scheme in (SECAGG, SECAGG_PLUS, CKKS)),
    Carrier(ADDITIVE, AdditiveRound.SHARE, "north", pieces_of, of_pieces),
    *(Carrier(RING, FIRST + place, silo, neighbours_of, of_neighbours) for place, silo in enumerate(ROSTER)),
    *(Carrier(scheme, OneKeyRound.DRAW_KEY, ROSTER[0], pieces_of, of_pieces) for scheme in (PAILLIER, STOCK_CKKS)),
]
"""Messages that bring advertisements. Commitments of the joint-key sum are in tests/federation/sums/joint_key."""

SEALED_FOR_ALL: Mapping[SecureSum, list[Carrier]] = {
    **{
        scheme: [Carrier(scheme, SecAggRound.UPLOAD, silo, pieces_of, of_pieces) for silo in ROSTER]
        for scheme in (SECAGG, SECAGG_PLUS, CKKS)
    },
    ADDITIVE: [Carrier(ADDITIVE, AdditiveRound.ADD, silo, pieces_of, of_pieces) for silo in ROSTER],
    RING: [
        Carrier(RING, FIRST + 1 + place, silo, total_of, of_total)
        for place, silo in enumerate((*ROSTER[1:], ROSTER[0]))
    ],
    **{
        scheme: [Carrier(scheme, OneKeyRound.UPLOAD, silo, key_of_the_leader, of_the_leader) for silo in ROSTER[1:]]
        for scheme in (PAILLIER, STOCK_CKKS)
    },
    JOINT_KEY: [Carrier(JOINT_KEY, COMMIT_CIPHERTEXT, silo, seed_shares, of_seed_shares) for silo in ROSTER],
}
"""Messages that bring sealed pieces, to every silo that gets one."""

SEALED = [
    carrier
    for scheme, all_of_them in SEALED_FOR_ALL.items()
    for carrier in (all_of_them if scheme is RING else all_of_them[1:2])
]
