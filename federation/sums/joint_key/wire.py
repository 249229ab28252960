"""Polynomials as bytes: two residues of 60 bits in 15 bytes, each checked against its prime on the way in."""

import numpy as np

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.joint_key.moduli import PRIME_BITS
from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.seal_codec import Residues

_PAIR_BYTES = 2 * PRIME_BITS // 8
_MASK = np.uint64(2**PRIME_BITS - 1)


def polynomial_bytes(ring: Ring, *, divided: bool = False) -> int:
    """Size of one polynomial on the wire."""
    return (len(ring.primes) - divided) * ring.degree // 2 * _PAIR_BYTES


def to_bytes(polynomials: Residues) -> bytes:
    """Return any number of polynomials as bytes."""
    pairs = polynomials.reshape(-1, 2)
    packed = np.empty((len(pairs), _PAIR_BYTES), dtype=np.uint8)
    low = pairs[:, 0] | (pairs[:, 1] << np.uint64(PRIME_BITS))
    high = pairs[:, 1] >> np.uint64(64 - PRIME_BITS)
    packed[:, :8] = low.astype("<u8").view(np.uint8).reshape(-1, 8)
    packed[:, 8:] = high.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : _PAIR_BYTES - 8]
    return packed.tobytes()


def from_bytes(ring: Ring, data: bytes | memoryview, *, divided: bool = False) -> Residues:
    """Return the polynomials in these bytes, whose length `require_polynomials` has checked."""
    packed = np.frombuffer(data, dtype=np.uint8).reshape(-1, _PAIR_BYTES)
    low = np.ascontiguousarray(packed[:, :8]).view("<u8")[:, 0]
    high = np.zeros((len(packed), 8), dtype=np.uint8)
    high[:, : _PAIR_BYTES - 8] = packed[:, 8:]
    residues = np.empty((len(packed), 2), dtype=np.uint64)
    residues[:, 0] = low & _MASK
    residues[:, 1] = (low >> np.uint64(PRIME_BITS)) | (high.view("<u8")[:, 0] << np.uint64(64 - PRIME_BITS))
    primes = ring.primes[: len(ring.primes) - divided, None]
    polynomials = residues.reshape(-1, len(primes), ring.degree)
    if (polynomials >= primes).any():
        raise MessageError("a polynomial came with a residue at or above its prime; its sender made or sent it wrongly")
    return polynomials


def require_polynomials(ring: Ring, data: bytes, count: int, *, divided: bool = False) -> bytes:
    """Return the bytes, if they have the length of just this many polynomials."""
    expected = count * polynomial_bytes(ring, divided=divided)
    if len(data) != expected:
        raise MessageError(f"{len(data)} bytes came for {count} polynomials, expected {expected}: cut off or too long")
    return data


def check_polynomials(ring: Ring, data: bytes, count: int, *, divided: bool = False) -> None:
    """Raise `MessageError` unless these are just this many polynomials, every residue below its prime."""
    view = memoryview(require_polynomials(ring, data, count, divided=divided))
    size = polynomial_bytes(ring, divided=divided)
    for start in range(0, len(data), size):
        from_bytes(ring, view[start : start + size], divided=divided)


def add_bytes(ring: Ring, total: Residues, data: bytes, *, divided: bool = False) -> None:
    """Add polynomials that came as bytes to a total, one after the other, so that never all of them are unpacked."""
    size, view = polynomial_bytes(ring, divided=divided), memoryview(data)
    for index, polynomial in enumerate(total):
        ring.add(polynomial, from_bytes(ring, view[index * size : (index + 1) * size], divided=divided)[0])
