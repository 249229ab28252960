"""Sampling: short polynomials for keys and errors, and the public polynomials that are expanded from a seed."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import Randomness
from siloseal.federation.sampling import discrete_gaussian
from siloseal.federation.sums.ckks.security import VARIANCE
from siloseal.federation.sums.seal.ring import Ring
from siloseal.federation.sums.seal.seal_codec import Residues

_SPARE_WORDS = 64  # a word is rejected with probability below 2^-11: each prime is just below a power of two


def draw_short(randomness: Randomness, count: int) -> NDArray[np.int64]:
    """Draw `count` entries of a key or of errors: discrete Gaussian, within 2^-120 of it in total variation."""
    return discrete_gaussian(float(VARIANCE)).draw(count, randomness)


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
