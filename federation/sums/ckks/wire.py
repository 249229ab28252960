"""Coefficients as bytes: each residue in as many bits as its prime has, prime after prime."""

from collections.abc import Iterator

import numpy as np

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.masked.words import WordRing
from siloseal.federation.sums.rlwe.seal_codec import Residues


def to_bytes(parameters: Parameters, coefficients: Residues) -> bytes:
    """Return coefficients of shape (primes, coefficients) as bytes."""
    return b"".join(ring.pack(row) for ring, row in zip(_rings(parameters), coefficients, strict=True))


def rows(parameters: Parameters, data: bytes) -> Iterator[Residues]:
    """Yield the residues modulo one prime after the other, each checked."""
    if len(data) != parameters.ciphertext_bytes:
        raise MessageError(f"a ciphertext came with {len(data)} bytes, expected {parameters.ciphertext_bytes}")
    start = 0
    for ring, prime in zip(_rings(parameters), parameters.ring.primes, strict=True):
        row = ring.unpack(data[start : start + ring.packed_bytes])
        start += ring.packed_bytes
        if (row >= prime).any():
            raise MessageError("a residue came at or above its prime; its sender made or sent the ciphertext wrongly")
        yield row.astype(np.uint64, copy=False)


def _rings(parameters: Parameters) -> list[WordRing]:
    return [WordRing(parameters.coefficients, bits) for bits in parameters.prime_bits]
