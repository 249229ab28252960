"""What a cipher must offer so that sums under one key run over it: keys, and ciphertexts that add up.

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
        """What the aggregator needs to add ciphertexts; it is no secret."""

    @abstractmethod
    def private_bytes(self) -> bytes:
        """Return the secret key, to seal to the other silos, and for the silo's own state."""

    @abstractmethod
    def encrypt(self, vector: Vector, randomness: Randomness) -> bytes:
        """A contribution that its domain has checked."""

    @abstractmethod
    def decrypt(self, ciphertext: bytes) -> Vector:
        """The total that a ciphertext holds; or one silo's vector, which looks the same."""


class Adder(Protocol):
    """What the aggregator does with ciphertexts, without a key."""

    def check(self, ciphertext: bytes) -> None:
        """`MessageError` unless this can be one silo's."""

    def add(self, ciphertexts: Iterable[bytes]) -> bytes:
        """The ciphertext of the sum of ciphertexts that passed `check`."""


class Cipher(Protocol):
    """A scheme with its sizes."""

    @property
    def key_bytes(self) -> int:
        """Of the largest secret key."""

    @property
    def ciphertext_bytes(self) -> int:
        """Of the largest ciphertext of a vector."""

    def draw_key(self) -> Key:
        """A fresh pair, from the library's own generator, which the operating system seeds."""

    def read_key(self, private: bytes) -> Key:
        """The pair that another silo drew; `MessageError` for anything else."""

    def adder(self, public: bytes) -> Adder:
        """For ciphertexts under this key; `MessageError` where it is none."""

    def error_bound(self, contributors: int) -> float:
        """The largest error of an entry of a sum of so many; 0 where sums are exact."""
