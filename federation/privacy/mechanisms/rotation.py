"""A random rotation that everyone in a sum computes from its public session: signs, then Hadamard's transform.

It spreads a vector's norm evenly over the coordinates, so that few of them wrap around the modulus. Accuracy only: the
privacy of a sum does not rest on it, so its seed may be public.
"""

import hashlib
import math
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_RADIX = 32


def padded(length: int) -> int:
    """The next power of two."""
    return 1 << max(0, (length - 1).bit_length())


def rotate(vector: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    """The vector, with zeros up to the next power of two, rotated: its L2 norm stays."""
    spread = np.zeros(padded(vector.size))
    spread[: vector.size] = vector
    return hadamard(spread * signs(spread.size, seed))


def rotate_back(vector: NDArray[np.float64], seed: bytes, length: int) -> NDArray[np.float64]:
    """The first `length` entries of what was rotated."""
    return (hadamard(vector) * signs(vector.size, seed))[:length]


def hadamard(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hadamard's transform, scaled to keep the norm; it is its own inverse. The length is a power of two.

    The transform of length 32^q r is q transforms of length 32 and one of length r, each along another axis. Taking
    the first axis to the last in the product leaves the next one in front: q + 1 matrix products, and no transposition.
    """
    rest, x = vector.size, vector
    while rest > 1:
        radix = min(_RADIX, rest)
        x = x.reshape(radix, -1).T @ _matrix(radix)
        rest //= radix
    return np.asarray(x.reshape(-1) / math.sqrt(vector.size), dtype=np.float64)


@lru_cache(maxsize=8)
def _matrix(size: int) -> NDArray[np.float64]:
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def public_stream(label: str, seed: bytes, count: int) -> bytes:
    """Public bytes that everyone computes alike, on every machine and with every version of every library."""
    key = hashlib.sha256(label.encode() + seed).digest()
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(count))


def signs(count: int, seed: bytes) -> NDArray[np.float64]:
    """+1 or -1, a function of the seed."""
    stream = public_stream("rotation", seed, -(-count // 8))
    bits = np.unpackbits(np.frombuffer(stream, dtype=np.uint8), count=count)
    return 1.0 - 2.0 * bits.astype(np.float64)
