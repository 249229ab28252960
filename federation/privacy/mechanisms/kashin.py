"""Kashin's representation: a vector as coefficients of a redundant frame, none of them large.

Lyubarskii and Vershynin 2010. The frame is a randomly signed Hadamard matrix of twice as many rows, of which the vector
uses some columns: U^T U = 1. Coefficients are found by clipping and passing on what the clipping cut off.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.privacy.mechanisms.rotation import hadamard, public_stream, signs

ETA, DELTA = 0.5, 0.7
LEVEL = 1 / ((1 - ETA) * math.sqrt(DELTA))
"""K = 2.39: a vector of norm c has coefficients up to K c / sqrt(N). Holds from a redundancy of 2 on."""


def frame_size(length: int) -> int:
    """N: the power of two that is at least twice the length."""
    return 1 << (2 * length - 1).bit_length()


def analyse(vector: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    """Coefficients a with `synthesise(a) == vector`, up to rounding."""
    size = frame_size(vector.size)
    coefficients, left = np.zeros(size), vector
    most = float(np.linalg.norm(vector)) / math.sqrt(DELTA * size)
    for _ in range(math.ceil(math.log(size))):
        clipped = np.clip(_spread(left, seed), -most, most)
        coefficients += clipped
        left = left - synthesise(clipped, seed, vector.size)
        most *= ETA
    return np.asarray(coefficients + _spread(left, seed), dtype=np.float64)


def synthesise(coefficients: NDArray[np.float64], seed: bytes, length: int) -> NDArray[np.float64]:
    """The vector of this length that the coefficients stand for."""
    columns, flips = _frame(coefficients.size, length, seed)
    return np.asarray((hadamard(coefficients) * flips)[columns], dtype=np.float64)


def _spread(vector: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    size = frame_size(vector.size)
    columns, flips = _frame(size, vector.size, seed)
    embedded = np.zeros(size)
    embedded[columns] = vector
    return hadamard(embedded * flips)  # signs first: after the transform they would spread nothing


@lru_cache(maxsize=2)
def _frame(size: int, length: int, seed: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The columns of the frame that the entries use, and its random signs, the same for everyone in the session."""
    order = np.argsort(np.frombuffer(public_stream("columns", seed, 8 * size), dtype="<u8"), kind="stable")
    columns = np.sort(order[:length])
    flips = signs(size, seed)
    columns.flags.writeable = flips.flags.writeable = False
    return columns, flips
