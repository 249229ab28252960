"""Shamir shares of a silo's seed: sealed to each peer, unsealed by it, and joined again should the silo go silent."""

from collections.abc import Mapping

from siloseal.federation.errors import CommitmentBroken, QuorumLost, SealBroken
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums import shamir
from siloseal.federation.sums.joint_key.keys import SEED_BYTES, seed_digest
from siloseal.federation.sums.sealing import ChannelKey
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import joint_key_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2

SHARE_BYTES = 66  # of a number below 2^521


def seal_shares(
    session: Session,
    me: str,
    channel: ChannelKey,
    seed: bytes,
    commitments: Mapping[str, pb.KeyCommitment],
    threshold: int,
    randomness: Randomness,
) -> list[sums_pb2.Piece]:
    """Seal to each peer its share of the seed, which only this peer can open."""
    points = {silo: session.share_point(silo) for silo in commitments if silo != me}
    number = int.from_bytes(seed, "little")
    shares = shamir.split(number, list(points.values()), threshold, randomness, prime=shamir.SEED_FIELD)
    of_peer = {silo: shares[point].to_bytes(SHARE_BYTES, "little") for silo, point in points.items()}
    return [
        sums_pb2.Piece(silo=silo, data=channel.seal(commitments[silo].channel_key, share, _context(session, me, silo)))
        for silo, share in of_peer.items()
    ]


def unseal_share(
    session: Session, me: str, channel: ChannelKey, sender: str, sender_key: bytes, reveal: pb.KeyReveal
) -> bytes:
    """Return the share of its seed that `sender` sealed for us."""
    sealed = [piece.data for piece in reveal.sealed if piece.silo == me]
    if len(sealed) != 1:
        raise SealBroken(f"{sender} sealed {len(sealed)} pieces for {me}, expected 1")
    share = channel.unseal(sender_key, sealed[0], _context(session, sender, me))
    if len(share) != SHARE_BYTES:
        raise SealBroken(f"{sender} sealed {len(share)} bytes, expected a share of {SHARE_BYTES}")
    return share


def join_shares(session: Session, silo: str, held: Mapping[str, bytes], threshold: int, digest: bytes) -> bytes:
    """Recover the seed of a silent silo from t shares; one false share among more than t does no harm."""
    if len(held) < threshold:
        raise QuorumLost(f"{len(held)} shares of {silo}'s seed came together, {threshold} are needed")
    shares = {session.share_point(holder): int.from_bytes(share, "little") for holder, share in held.items()}
    is_right = lambda number: seed_digest(_seed(number)) == digest  # noqa: E731
    number = shamir.recover(shares, threshold, is_right, prime=shamir.SEED_FIELD)
    if number is not None:
        return _seed(number)
    raise CommitmentBroken(f"the shares of {silo}'s seed give another one: {silo} or a survivor sent a false share")


def _seed(number: int) -> bytes:
    return int(number % 2 ** (8 * SEED_BYTES)).to_bytes(SEED_BYTES, "little")


def _context(session: Session, sender: str, receiver: str) -> bytes:
    return session.bind("seed share", sender.encode(), receiver.encode())
