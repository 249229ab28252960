"""The X25519 keys of a session, each signed by the silo that drew it: no aggregator can slip in its own."""

from collections.abc import Mapping, Sequence

from siloseal.federation.errors import MessageError, WrongContributors
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

KEY_BYTES = 32
ADVERTISEMENT_BYTES = 2 * (KEY_BYTES + 2) + 66
"""Number of bytes that two keys and a signature take at most."""
FIELD_PRIME = 2**255 - 19
"""The prime of Curve25519. X25519 reads a key modulo it and ignores the top bit, so larger keys have a smaller twin."""


def advertise(session: Session, me: Identity, keys: Sequence[bytes]) -> bytes:
    """Return the silo's advertisement: its public keys for the session, signed."""
    signature = me.sign(_statement(session, me.name, keys))
    return pb.Advertisement(keys=keys, signature=signature).SerializeToString()


def check_advertisements(session: Session, said: Mapping[str, bytes], *, keys: int) -> dict[str, tuple[bytes, ...]]:
    """Return each silo's keys: `keys` of each, signed by it, and no key twice among all of them.

    Every key is below `FIELD_PRIME`, so that two keys that differ as bytes differ as points, too.
    """
    advertised = dict[str, tuple[bytes, ...]]()
    for silo, data in said.items():
        advertisement = decode(pb.Advertisement, data)
        advertised[silo] = tuple(advertisement.keys)
        if (sizes := [len(key) for key in advertised[silo]]) != [KEY_BYTES] * keys:
            raise MessageError(f"{silo} advertised keys of {sizes} bytes, expected {keys} of {KEY_BYTES}")
        if any(int.from_bytes(key, "little") >= FIELD_PRIME for key in advertised[silo]):
            raise MessageError(
                f"{silo} advertised a key above 2^255 - 19, which stands for the same point as a smaller one; expected "
                "an X25519 key as this version draws them"
            )
        statement = _statement(session, silo, advertised[silo])
        check_signature(silo, session.identity(silo), advertisement.signature, statement)
    every = [key for drawn in advertised.values() for key in drawn]
    if len(set(every)) != len(every):
        raise WrongContributors("a public key came twice: one silo copied another's, or used one for two things")
    return advertised


def _statement(session: Session, silo: str, keys: Sequence[bytes]) -> bytes:
    return session.bind("advertise", silo.encode(), *keys)
