"""The rounds of a sum under one key, who leads it, and what its silos seal and sign."""

import hashlib
from enum import IntEnum

from siloseal.federation.sums.session import Session


class Round(IntEnum):
    """The rounds, in order."""

    ADVERTISE = 0
    DRAW_KEY = 1
    UPLOAD = 2
    OPEN = 3
    TELL = 4


def leader(session: Session) -> str:
    """The silo that draws the key: the first on the roster."""
    return session.roster[0]


def sealed_key_context(session: Session, receiver: str) -> bytes:
    """Return the context in which the leader seals the key to this silo."""
    return session.bind("sealed key", leader(session).encode(), receiver.encode())


def opening_statement(session: Session, ciphertext: bytes, digest: bytes) -> bytes:
    """Return the statement that this ciphertext opens to something with this digest."""
    return session.bind("opened", digest_of(ciphertext), digest)


def digest_of(data: bytes) -> bytes:
    """Return the SHA-256 digest."""
    return hashlib.sha256(data).digest()
