"""Paillier's cryptosystem (1999) over batches of integers: products of ciphertexts are sums of plaintexts.

With g = n + 1, a plaintext m is encrypted as (1 + m n) r^n mod n^2, for a fresh unit r. The primes are those of an RSA
key that `cryptography` draws, which have equal lengths, so that n and (p - 1)(q - 1) have no factor in common. Silos
hold both primes, and compute modulo each. gmpy2's powers take a time that depends on the secrets: a baseline.
"""

from collections.abc import Iterable

import gmpy2
import numpy as np
from cryptography.hazmat.primitives.asymmetric import rsa
from numpy.typing import NDArray

from siloseal.federation.errors import MessageError
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.one_key.cipher import Adder, Key
from siloseal.federation.sums.one_key.paillier_parameters import PaillierSizes
from siloseal.federation.sums.session import Vector

_EXPONENT = 65537  # of the RSA key that nobody uses
_PRIME_TESTS = 25


class PaillierCipher(PaillierSizes):
    """Paillier of these sizes."""

    def draw_key(self) -> Key:
        numbers = rsa.generate_private_key(_EXPONENT, self.key_bits).private_numbers()
        return PaillierKey(self, numbers.p, numbers.q)

    def read_key(self, private: bytes) -> Key:
        half = self.key_bits // 16
        p, q = (int.from_bytes(part, "big") for part in (private[:half], private[half:]))
        prime = all(gmpy2.is_prime(factor, _PRIME_TESTS) for factor in (p, q))
        if not (len(private) == self.key_bytes and prime and p != q and (p * q).bit_length() == self.key_bits):
            raise MessageError(f"a Paillier key came that is not two primes of {self.key_bits // 2} bits")
        return PaillierKey(self, p, q)

    def adder(self, public: bytes) -> Adder:
        modulus = int.from_bytes(public, "big")
        if len(public) != self.key_bits // 8 or modulus.bit_length() != self.key_bits or modulus % 2 == 0:
            raise MessageError(f"{len(public)} bytes are no Paillier modulus of {self.key_bits} bits")
        return PaillierAdder(self, modulus)

    def error_bound(self, contributors: int) -> float:
        return 0.0

    def read(self, ciphertext: bytes, modulus: int) -> list[int]:
        """Return the units modulo n^2 of a vector; anything else, of which a factor of n is the worst, is refused."""
        if len(ciphertext) != self.ciphertext_bytes:
            raise MessageError(f"a ciphertext has {len(ciphertext)} bytes, expected {self.ciphertext_bytes}")
        size, square = self.key_bits // 4, modulus**2
        units = [int.from_bytes(ciphertext[at : at + size], "big") for at in range(0, len(ciphertext), size)]
        if not all(0 < unit < square and gmpy2.gcd(unit, modulus) == 1 for unit in units):
            raise MessageError("a ciphertext is no unit modulo n^2: it was altered, or is under another key")
        return units

    def write(self, units: Iterable[int]) -> bytes:
        """Return the ciphertexts as bytes, the inverse of `read`."""
        return b"".join(int(unit).to_bytes(self.key_bits // 4, "big") for unit in units)


class PaillierKey(Key):
    """A Paillier key pair, held as its two primes."""

    __slots__ = ("_cipher", "_modulus", "_p", "_q")

    def __init__(self, cipher: PaillierCipher, p: int, q: int) -> None:
        self._cipher, self._p, self._q, self._modulus = cipher, gmpy2.mpz(p), gmpy2.mpz(q), gmpy2.mpz(p) * q

    @property
    def public(self) -> bytes:
        return int(self._modulus).to_bytes(self._cipher.key_bits // 8, "big")

    def private_bytes(self) -> bytes:
        return b"".join(int(prime).to_bytes(self._cipher.key_bits // 16, "big") for prime in (self._p, self._q))

    def encrypt(self, vector: Vector, randomness: Randomness) -> bytes:
        plaintexts = self._cipher.batching.pack(_integers(vector))
        return self._cipher.write(self.encrypt_one(plaintext, randomness) for plaintext in plaintexts)

    def decrypt(self, ciphertext: bytes) -> Vector:
        units = self._cipher.read(ciphertext, int(self._modulus))
        sums = self._cipher.batching.unpack([self.decrypt_one(unit) for unit in units])
        return sums % self._cipher.domain.modulus

    def encrypt_one(self, plaintext: int, randomness: Randomness) -> int:
        """Compute (1 + m n) r^n mod n^2, the power modulo the square of each prime."""
        p, q, n = self._p, self._q, self._modulus
        unit = self._draw_unit(randomness)
        modulo_p, modulo_q = _power_modulo(unit, p, q), _power_modulo(unit, q, p)
        power = modulo_q + q**2 * ((modulo_p - modulo_q) * gmpy2.invert(q**2, p**2) % p**2)
        return int((1 + plaintext * n) * power % n**2)

    def decrypt_one(self, unit: int) -> int:
        """Decrypt by the Chinese remainder theorem: modulo each prime, whose square is half as long as n^2."""
        p, q = self._p, self._q
        modulo_p, modulo_q = _decrypt_modulo(unit, p, q), _decrypt_modulo(unit, q, p)
        return int(modulo_q + q * ((modulo_p - modulo_q) * gmpy2.invert(q, p) % p))

    def _draw_unit(self, randomness: Randomness) -> int:
        """Draw uniformly modulo n: what is too large is drawn anew. A factor of n never comes."""
        while True:
            drawn = int.from_bytes(randomness.bits(self._cipher.key_bits // 8), "big")
            if 0 < drawn < self._modulus and gmpy2.gcd(drawn, self._modulus) == 1:
                return drawn


class PaillierAdder:
    """Addition of Paillier ciphertexts, for which the modulus is enough."""

    def __init__(self, cipher: PaillierCipher, modulus: int) -> None:
        self._cipher, self._modulus = cipher, modulus

    def check(self, ciphertext: bytes) -> None:
        self._cipher.read(ciphertext, self._modulus)

    def add(self, ciphertexts: Iterable[bytes]) -> bytes:
        batches = [self._cipher.read(each, self._modulus) for each in ciphertexts]
        self._cipher.batching.require_addends(len(batches))
        square, totals = gmpy2.mpz(self._modulus) ** 2, [gmpy2.mpz(1)] * self._cipher.batching.plaintexts
        for units in batches:
            totals = [total * unit % square for total, unit in zip(totals, units, strict=True)]
        return self._cipher.write(totals)


def _power_modulo(unit: int, prime: int, other: int) -> int:
    """r^(p q) mod p^2. A p-th power modulo p^2 depends on its base modulo p only, and there q counts modulo p - 1."""
    return int(gmpy2.powmod(gmpy2.powmod(unit, other % (prime - 1), prime), prime, prime**2))


def _decrypt_modulo(unit: int, prime: int, other: int) -> int:
    """L(c^(p-1) mod p^2) / L(g^(p-1) mod p^2) mod p, with L(x) = (x - 1) / p; the divisor is -q modulo p."""
    raised = (gmpy2.powmod(unit, prime - 1, prime**2) - 1) // prime
    return int(raised * gmpy2.invert(-other, prime) % prime)


def _integers(vector: Vector) -> NDArray[np.int64]:
    return vector.astype(np.int64, copy=False)
