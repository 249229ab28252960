"""Messages that a silo seals for another, so that the aggregator cannot read them: X25519, HKDF, ChaCha20-Poly1305.

Channel keys serve one session. The context (session, sender, receiver) is bound into the key, so that a sealed
message opens in no other place. The same agreement of keys gives two silos the seed of a mask.
"""

import os
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from siloseal.federation.errors import MessageError, SealBroken
from siloseal.federation.randomness import Randomness
from siloseal.federation.secret import Secret

NONCE_BYTES = 12
"""Number of bytes of the nonce, which stands before a sealed message."""
_TAG_BYTES = 16  # of Poly1305, behind the message
SEAL_BYTES = NONCE_BYTES + _TAG_BYTES
"""Number of bytes that a seal adds to a message: nonce and tag."""
KEY_BYTES = 32
FIELD_PRIME = 2**255 - 19
"""The prime of Curve25519. X25519 reads a key modulo it and ignores the top bit, so larger keys have a smaller twin."""


def require_canonical(silo: str, key: bytes) -> None:
    """`MessageError` unless these are the bytes of a silo's public key, of which no point has two."""
    if len(key) != KEY_BYTES or int.from_bytes(key, "little") >= FIELD_PRIME:
        raise MessageError(
            f"{silo} came with a public key of {len(key)} bytes that nobody draws: expected {KEY_BYTES}, below "
            "2^255 - 19, because a larger number stands for the same point as a smaller one; both sides must run the "
            "same version"
        )


class AgreementKey(Secret):
    """A silo's X25519 key for one session."""

    __slots__ = ("_key", "_shared", "public")

    def __init__(self, private: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private)
        self._shared = dict[bytes, bytes]()  # by the other's public key: messages go both ways
        self.public = self._key.public_key().public_bytes_raw()

    @classmethod
    def draw(cls, randomness: Randomness) -> Self:
        """Draw a fresh key."""
        return cls(randomness.bits(32))

    def private_bytes(self) -> bytes:
        """Return the private key, for the silo's own state and for shares of it."""
        return self._key.private_bytes_raw()

    def agree(self, other: bytes, context: bytes) -> bytes:
        """Return 32 bytes that only the owners of the two keys know, for this context only."""
        self.meet(other)
        return HKDF(SHA256(), 32, salt=None, info=context).derive(self._shared[other])

    def meet(self, other: bytes) -> None:
        """Raise `SealBroken` unless the other's public key is one to agree with."""
        if other not in self._shared:
            try:
                self._shared[other] = self._key.exchange(X25519PublicKey.from_public_bytes(other))
            except ValueError as error:  # a wrong length, or a point of low order, whose secret everyone knows
                raise SealBroken("a silo came with no usable X25519 key; it must draw another") from error


class ChannelKey(AgreementKey):
    """A silo's key to seal messages for other silos, and to unseal theirs."""

    __slots__ = ()

    def seal(self, receiver: bytes, message: bytes, context: bytes) -> bytes:
        """Seal the message for the owner of this public key."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher(receiver, context).encrypt(nonce, message, context)

    def unseal(self, sender: bytes, sealed: bytes, context: bytes) -> bytes:
        """Return what the owner of this public key sealed for us in this context; `SealBroken` for anything else."""
        try:
            return self._cipher(sender, context).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
        except (InvalidTag, ValueError) as error:
            raise SealBroken(
                "a sealed piece does not open: it was altered on its way, or sealed for another silo or session"
            ) from error

    def _cipher(self, other: bytes, context: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(self.agree(other, context))
