"""The X25519 keys of a session, each signed by the silo that drew it: no aggregator can slip in its own."""

from collections.abc import Mapping, Sequence

from siloseal.federation.errors import MessageError, WrongContributors
from siloseal.federation.records.identity import Identity, check_signature
from siloseal.federation.sums.sealing import KEY_BYTES, require_canonical
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

ADVERTISEMENT_BYTES = 2 * (KEY_BYTES + 2) + 66
"""Number of bytes that two keys and a signature take at most."""


def advertise(session: Session, me: Identity, keys: Sequence[bytes]) -> bytes:
    """Return the silo's advertisement: its public keys for the session, signed."""
    signature = me.sign(_statement(session, me.name, keys))
    return pb.Advertisement(keys=keys, signature=signature).SerializeToString()


def check_advertisements(session: Session, said: Mapping[str, bytes], *, keys: int) -> dict[str, tuple[bytes, ...]]:
    """Return each silo's keys: `keys` of each, signed by it, and no key twice among all of them.

    Keys that differ as bytes differ as points, too.
    """
    advertised = dict[str, tuple[bytes, ...]]()
    for silo, data in said.items():
        advertisement = decode(pb.Advertisement, data)
        advertised[silo] = tuple(advertisement.keys)
        if (sizes := [len(key) for key in advertised[silo]]) != [KEY_BYTES] * keys:
            raise MessageError(f"{silo} advertised keys of {sizes} bytes, expected {keys} of {KEY_BYTES}")
        for key in advertised[silo]:
            require_canonical(silo, key)
        statement = _statement(session, silo, advertised[silo])
        check_signature(silo, session.identity(silo), advertisement.signature, statement)
    every = [key for drawn in advertised.values() for key in drawn]
    if len(set(every)) != len(every):
        raise WrongContributors("a public key came twice: one silo copied another's, or used one for two things")
    return advertised


def _statement(session: Session, silo: str, keys: Sequence[bytes]) -> bytes:
    return session.bind("advertise", silo.encode(), *keys)
