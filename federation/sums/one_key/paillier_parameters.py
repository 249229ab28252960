"""The sizes of batched Paillier, which are arithmetic: a sum is admitted by them before anything is encrypted."""

from dataclasses import dataclass

from siloseal.federation.sums.one_key.batching import Batching
from siloseal.federation.sums.session import IntegerDomain


@dataclass(frozen=True)
class PaillierSizes:
    """Sizes under a modulus of `key_bits`, for sums of this many silos over this domain; `DomainError` if none fit."""

    key_bits: int
    domain: IntegerDomain
    silos: int
    largest: int | None = None
    """The largest entry, where it is known to be below the domain's."""

    def __post_init__(self) -> None:
        self.batching  # noqa: B018  lanes that do not fit are refused here

    @property
    def batching(self) -> Batching:
        """The lanes of a plaintext. It is below n, which has its highest bit set: one bit less always fits."""
        return Batching(self.domain.length, self.largest or self.domain.modulus - 1, self.silos, self.key_bits - 1)

    @property
    def key_bytes(self) -> int:
        """Number of bytes of the secret key: two primes of half the modulus's length."""
        return self.key_bits // 8

    @property
    def ciphertext_bytes(self) -> int:
        """Number of bytes of a vector's ciphertexts, which are below n^2."""
        return self.batching.plaintexts * self.key_bits // 4
