"""Sampling of secrets and errors, as SEAL draws them. (Flooding is in packing.py.)

Secrets are uniform over {-1, 0, 1}. Errors are centred binomials of 21 coin pairs, variance 10.5, SEAL's own default.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.randomness import Randomness

TERNARY_VARIANCE = 2 / 3
COIN_PAIRS = 21
ERROR_VARIANCE = COIN_PAIRS / 2

_SPARE_BYTES = 2048  # a byte is rejected with probability 1/64: 16,384 kept ones need about 260 more


def ternary(stream: bytes, count: int) -> NDArray[np.int64]:
    """Return `count` uniform values of {-1, 0, 1}, from uniform bytes below 252 = 84 * 3; other bytes are rejected."""
    drawn = np.frombuffer(stream, dtype=np.uint8)
    kept = drawn[drawn < 252][:count]
    if len(kept) < count:
        raise RuntimeError("too many bytes were rejected, which happens with probability below 2^-200")
    return (kept % 3).astype(np.int64) - 1


def stream_length(count: int) -> int:
    """Bytes that `ternary` needs for this many values."""
    return count + count // 16 + _SPARE_BYTES


def draw_ternary(randomness: Randomness, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Draw fresh secrets."""
    count = shape[0] * shape[1]
    return ternary(randomness.bits(stream_length(count)), count).reshape(shape)


def expand_ternary(seed: bytes, label: bytes, count: int) -> NDArray[np.int64]:
    """Expand a seed into its secret."""
    return ternary(hashlib.shake_256(seed + label).digest(stream_length(count)), count)


def draw_errors(randomness: Randomness, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Draw fresh errors: heads minus heads of 21 coins each."""
    words = np.frombuffer(randomness.bits(8 * shape[0] * shape[1]), dtype="<u8").reshape(shape)
    coins = np.uint64(2**COIN_PAIRS - 1)
    heads, others = np.bitwise_count(words & coins), np.bitwise_count((words >> np.uint64(32)) & coins)
    errors: NDArray[np.int64] = heads.astype(np.int64) - others.astype(np.int64)
    return errors
