"""The interface of a cipher for sums under one key: keys, and ciphertexts that add up.

A cipher is made for one domain and one number of silos. Bytes that come from others are checked wherever they come in.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Protocol

from siloseal.federation.randomness import Randomness
from siloseal.federation.secret import Secret
from siloseal.federation.sums.session import Vector


class Key(Secret):
    """The key pair, as every silo holds it."""

    __slots__ = ()

    @property
    @abstractmethod
    def public(self) -> bytes:
        """The public key, which the aggregator needs to add ciphertexts; it is no secret."""

    @abstractmethod
    def private_bytes(self) -> bytes:
        """Return the secret key, to seal to the other silos, and for the silo's own state."""

    @abstractmethod
    def encrypt(self, vector: Vector, randomness: Randomness) -> bytes:
        """Encrypt a contribution that its domain has checked."""

    @abstractmethod
    def decrypt(self, ciphertext: bytes) -> Vector:
        """Return the total that a ciphertext holds; or one silo's vector, which looks the same."""


class Adder(Protocol):
    """The aggregator's operations on ciphertexts, without a secret key."""

    def check(self, ciphertext: bytes) -> None:
        """Raise `MessageError` unless this can be one silo's ciphertext."""

    def add(self, ciphertexts: Iterable[bytes]) -> bytes:
        """Return the ciphertext of the sum of ciphertexts that passed `check`."""


class Cipher(Protocol):
    """A cipher with its sizes."""

    @property
    def key_bytes(self) -> int:
        """Number of bytes of the largest secret key."""

    @property
    def ciphertext_bytes(self) -> int:
        """Number of bytes of the largest ciphertext of a vector."""

    def draw_key(self) -> Key:
        """Draw a fresh pair, from the library's own generator, which the operating system seeds."""

    def read_key(self, private: bytes) -> Key:
        """Return the pair that another silo drew; `MessageError` for anything else."""

    def adder(self, public: bytes) -> Adder:
        """Return the adder for ciphertexts under this public key; `MessageError` if it is no key."""

    def error_bound(self, contributors: int) -> float:
        """Return the largest error of an entry of a sum of this many vectors; 0 where sums are exact."""
