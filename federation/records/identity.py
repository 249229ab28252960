"""Who a silo is: an Ed25519 key of its own, whose public half everyone on the roster knows."""

from functools import lru_cache
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from siloseal.federation.errors import RunError, SignatureInvalid
from siloseal.federation.records.storage import Survives, make_folder, read_secret, write_atomically
from siloseal.federation.secret import Secret

KEY_BYTES = 32


class Identity(Secret):
    """A silo's name and the key it signs with."""

    __slots__ = ("_key", "name", "public")

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        self.name = name
        self.public = key.public_key().public_bytes_raw()
        self._key = key

    @classmethod
    def create(cls, name: str) -> Self:
        """A new key from the operating system's generator."""
        return cls(name, Ed25519PrivateKey.generate())

    @classmethod
    def in_file(cls, name: str, path: Path, survives: Survives = Survives.POWER_CUT) -> Self:
        """The key in this file, which only its owner may read; a new one the first time."""
        if not path.exists():
            make_folder(path.parent, mode=0o700, survives=survives)
            key = Ed25519PrivateKey.generate().private_bytes_raw()
            write_atomically(path, key, mode=0o600, survives=survives)
        return cls.read(name, path)

    @classmethod
    def read(cls, name: str, path: Path) -> Self:
        """The key in this file, which must be there."""
        content = read_secret(
            path,
            remedy="restore it from a backup. A kit of the authority holds no keys: put its files beside those "
            "that `siloseal provision request` made",
        )
        if len(content) != KEY_BYTES:
            raise RunError(
                f"{path} holds {len(content)} bytes, expected an Ed25519 key of {KEY_BYTES}; restore it from a backup"
            )
        return cls(name, Ed25519PrivateKey.from_private_bytes(content))

    def sign(self, statement: bytes) -> bytes:
        """This silo's signature of a statement."""
        return self._key.sign(statement)


@lru_cache(maxsize=4096)
def _verify(public: bytes, signature: bytes, statement: bytes) -> None:
    """Raise unless the signature is right. Right ones are remembered, for silos of one process that see the same."""
    Ed25519PublicKey.from_public_bytes(public).verify(signature, statement)


def check_signature(silo: str, public: bytes, signature: bytes, statement: bytes) -> None:
    """`SignatureInvalid` unless the silo with this public key signed just this."""
    try:
        _verify(public, signature, statement)
    except (InvalidSignature, ValueError) as error:
        raise SignatureInvalid(
            f"a statement came as {silo}'s, but the key that the roster has for {silo} did not sign it: it was altered "
            "on its way, or the roster is out of date"
        ) from error
