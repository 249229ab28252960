"""The list of survivors, as one bit a silo: survivors and dropouts cannot overlap, and together are everyone."""

from collections.abc import Iterable

import numpy as np

from siloseal.federation.errors import MessageError, SignatureInvalid
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.sums.session import Session


def to_bits(session: Session, survivors: Iterable[str]) -> bytes:
    """Return one bit for each silo, in the roster's order."""
    alive = set(survivors)
    return np.packbits([silo in alive for silo in session.roster], bitorder="little").tobytes()


def from_bits(session: Session, bits: bytes) -> tuple[str, ...]:
    """Return the silos whose bit is set."""
    silos = len(session.roster)
    if len(bits) != -(-silos // 8):
        raise MessageError(f"{len(bits)} bytes came as one bit for each of {silos} silos, expected {-(-silos // 8)}")
    alive = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    if alive[silos:].any():
        raise MessageError(f"bits are set beyond the {silos} silos of the roster")
    return tuple(silo for silo, bit in zip(session.roster, alive, strict=False) if bit)


def sign_survivors(session: Session, me: Identity, bits: bytes) -> bytes:
    """Sign the list of survivors. Each silo signs one list in a session."""
    return me.sign(session.bind("survivors", bits))


def check_survivors(session: Session, silo: str, bits: bytes, signature: bytes) -> None:
    """Raise `SignatureInvalid` unless the silo signed the same list."""
    try:
        check_signature(silo, session.identity(silo), signature, session.bind("survivors", bits))
    except SignatureInvalid as error:
        raise SignatureInvalid(
            f"{silo} did not sign the list of survivors that was given out here: the aggregator told it another one, "
            "or altered its signature; nothing is revealed"
        ) from error
