"""A random rotation that everyone in a sum computes from its public session: signs and Hadamard's transform.

It spreads a vector's norm evenly over the coordinates, so that few of them wrap around the modulus or are cut. Accuracy
only: the privacy of a sum does not rest on it, so its seed may be public.

A length that is a power of two takes one pass. Any other takes three, and no padding: with b the largest power of two
below, the first b entries are transformed, then the last b, which overlap; then each entry of one half is mixed with
one of the other, because two blocks that hardly overlap leave a vector of one half nearly all in that half.
"""

import hashlib
import math
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_RADIX = 32


def rotate(vector: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    """The vector, rotated: its L2 norm and its length stay."""
    block = _block(vector.size)
    if block == vector.size:
        return hadamard(vector * signs(vector.size, seed))
    first, second, third = _flips(vector.size, seed)
    x = vector * first
    x[:block] = hadamard(x[:block])
    x *= second
    x[-block:] = hadamard(x[-block:])
    x *= third
    return _halves_mixed(x)


def rotate_back(vector: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    """The vector that was rotated."""
    block = _block(vector.size)
    if block == vector.size:
        return hadamard(vector) * signs(vector.size, seed)
    first, second, third = _flips(vector.size, seed)
    x = _halves_mixed(vector) * third
    x[-block:] = hadamard(x[-block:])
    x *= second
    x[:block] = hadamard(x[:block])
    return np.asarray(x * first, dtype=np.float64)


def _block(length: int) -> int:
    """The largest power of two up to the length."""
    return 1 << (length.bit_length() - 1)


def _flips(length: int, seed: bytes) -> NDArray[np.float64]:
    """Signs of the three passes, (3, length): parts of one stream that do not overlap."""
    return signs(3 * length, seed).reshape(3, length)


def _halves_mixed(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """(x + y, x - y) / sqrt 2 for each entry x of the first half and y of the last; it is its own inverse."""
    half = vector.size // 2
    x, y = vector[:half], vector[vector.size - half :]
    middle = vector[half : vector.size - half]  # one entry where the length is odd, none where it is even
    return np.concatenate(((x + y) / math.sqrt(2), middle, (x - y) / math.sqrt(2)))


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
