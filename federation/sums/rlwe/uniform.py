"""Public polynomials, uniform modulo each prime of a ring, which are expanded from a seed."""

import hashlib

import numpy as np

from siloseal.federation.sums.rlwe.polynomial_ring import Ring
from siloseal.federation.sums.rlwe.seal_codec import Residues

_SPARE_WORDS = 64  # a word is rejected with probability below 2^-11: each prime is just below a power of two


def expand_uniform(ring: Ring, seed: bytes) -> Residues:
    """Expand a seed into its public polynomial, evaluated, of shape (primes, degree)."""
    rows = list[Residues]()
    for index, (prime, bits) in enumerate(zip(ring.primes, ring.prime_bits, strict=True)):
        stream = hashlib.shake_256(seed + bytes([index])).digest(8 * (ring.degree + _SPARE_WORDS))
        words = np.frombuffer(stream, dtype="<u8") & np.uint64(2**bits - 1)
        rows.append(words[words < prime][: ring.degree])
    if min(map(len, rows)) < ring.degree:
        raise RuntimeError("too many words were rejected, which happens with probability below 2^-400")
    return np.stack(rows)
