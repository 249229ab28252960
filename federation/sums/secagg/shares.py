"""A silo's two secrets, the key of its masks and the seed of its own mask, and their shares.

Both are numbers below a prime of 255 bits, so that a share of either takes 32 bytes.
"""

from collections.abc import Callable, Mapping

from siloseal.federation.errors import CommitmentBroken, QuorumLost
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums import shamir
from siloseal.federation.sums.masked.words import Sign
from siloseal.federation.sums.sealing import AgreementKey
from siloseal.federation.sums.session import Session

SECRET_BYTES = 32


def draw_secret(randomness: Randomness) -> bytes:
    """Draw a secret, uniform below the prime, little-endian."""
    return to_bytes(shamir.uniform(randomness, shamir.KEY_FIELD))


def to_bytes(secret: int) -> bytes:
    """Return a secret, or a share of one, as bytes."""
    return secret.to_bytes(SECRET_BYTES, "little")


def split_secret(
    session: Session, secret: bytes, holders: list[str], threshold: int, randomness: Randomness
) -> dict[str, bytes]:
    """Return each holder's share."""
    points = {silo: session.share_point(silo) for silo in holders}
    number = int.from_bytes(secret, "little")
    shares = shamir.split(number, list(points.values()), threshold, randomness, prime=shamir.KEY_FIELD)
    return {silo: to_bytes(shares[point]) for silo, point in points.items()}


def seed_digest(session: Session, silo: str, seed: bytes) -> bytes:
    """Digest by which the aggregator knows the right seed; it tells nothing about 255 random bits."""
    return session.bind("seed", silo.encode(), seed)


def join_seed(session: Session, silo: str, held: Mapping[str, bytes], threshold: int, digest: bytes) -> bytes:
    """Recover the seed of a silo whose upload is in the sum."""
    return _join(session, silo, held, threshold, lambda seed: seed_digest(session, silo, seed) == digest, "seed")


def join_key(session: Session, silo: str, held: Mapping[str, bytes], threshold: int, public: bytes) -> AgreementKey:
    """Recover the masking key of a silo whose upload never came."""
    key = _join(session, silo, held, threshold, lambda secret: AgreementKey(secret).public == public, "masking key")
    return AgreementKey(key)


def mask_between(session: Session, mine: AgreementKey, me: str, other: str, key: bytes) -> bytes:
    """Return the key of the mask between two silos: the same for both."""
    first, second = sorted((me, other))
    return mine.agree(key, session.bind("mask", first.encode(), second.encode()))


def mask_sign(me: str, other: str) -> Sign:
    """Return the sign of a mask: one of the two silos adds it, the other subtracts it."""
    return 1 if other < me else -1


def _join(
    session: Session, silo: str, held: Mapping[str, bytes], threshold: int, is_right: Callable[[bytes], bool], what: str
) -> bytes:
    if len(held) < threshold:
        raise QuorumLost(f"{len(held)} shares of {silo}'s {what} came together, {threshold} are needed")
    shares = {session.share_point(holder): int.from_bytes(share, "little") for holder, share in held.items()}
    number = shamir.recover(shares, threshold, lambda found: is_right(to_bytes(found)), prime=shamir.KEY_FIELD)
    if number is None:
        raise CommitmentBroken(
            f"the shares of {silo}'s {what} give another one: {silo} or a survivor sent a false share; "
            "begin another sum"
        )
    return to_bytes(number)
