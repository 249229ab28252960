"""The two kinds of randomness, which must never be mistaken for each other.

`SecureRandomness` is for everything that privacy rests on: noise, Poisson samples, masks, keys. Each call draws a
fresh 256-bit key from the operating system and expands it with AES-256 in counter mode, which is several times faster
than asking the system for every byte and as hard to predict.

`SeededRandomness` is the same stream under a key derived from a seed. It exists for tests and can be reached from
Python only: no config field selects it. Initial weights and the order of public data use `torch.Generator`s seeded from
the job's public seed; they hide nothing.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_ZERO_BLOCK = bytes(16)
_ZEROS = memoryview(bytes(2**20))  # encrypted again and again: new ones take up to an eighth of a noise's time


class Randomness(Protocol):
    """A source of bits and of two distributions."""

    def begin(self, stretch: str) -> None:
        """Begin a stretch of work. A seeded source repeats its draws when a crash repeats the work."""

    def bits(self, count: int) -> bytes:
        """`count` uniform bytes."""

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """`count` uniform values in [0, 1), on a grid of 2^-53."""

    def normals(self, count: int) -> NDArray[np.float32]:
        """`count` standard normal values."""


class _Stream(ABC):
    """Distributions over a key stream; the two kinds differ only in where the next key comes from."""

    @abstractmethod
    def _next_key(self) -> bytes:
        """A key that no earlier call used."""

    def bits(self, count: int) -> bytes:
        encryptor = Cipher(algorithms.AES(self._next_key()), modes.CTR(_ZERO_BLOCK)).encryptor()
        return encryptor.update(_ZEROS[:count] if count <= len(_ZEROS) else bytes(count))

    def uniforms(self, count: int) -> NDArray[np.float64]:
        words = np.frombuffer(self.bits(8 * count), dtype="<u8")
        return (words >> np.uint64(11)) * np.float64(2.0**-53)

    def normals(self, count: int) -> NDArray[np.float32]:
        """Standard normal values by Box-Muller, in single precision; no noise that privacy rests on.

        That noise is exact (`privacy/mechanisms/gaussian_noise.py`, `exact_noise.py`). These values blur the real
        images that a discriminator is shown, before any gradient is clipped. The tail reaches 9.4 standard deviations,
        as the radius comes from 64-bit words.
        """
        pairs = (count + 1) // 2
        stream = self.bits(12 * pairs)
        radius = np.frombuffer(stream, dtype="<u8", count=pairs).astype(np.float32)
        radius = np.sqrt(-2.0 * np.log((radius + np.float32(0.5)) * np.float32(2.0**-64)))
        angle = np.frombuffer(stream, dtype="<u4", offset=8 * pairs).astype(np.float32)
        angle *= np.float32(2.0 * np.pi * 2.0**-32)
        return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], dtype=np.float32)[:count]


class SecureRandomness(_Stream):
    """Randomness from the operating system's generator. Nothing about it can be repeated."""

    def begin(self, stretch: str) -> None:
        """Do nothing: every draw is fresh."""

    def _next_key(self) -> bytes:
        return os.urandom(32)


class SeededRandomness(_Stream):
    """Repeatable randomness, for tests: whoever knows the seed can subtract the noise."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draws = 0
        self._stretch = ""

    def begin(self, stretch: str) -> None:
        """Count draws anew within the stretch."""
        self._stretch, self._draws = f" {stretch}:", 0

    def _next_key(self) -> bytes:
        self._draws += 1
        return hashlib.sha256(f"siloseal test randomness {self._seed}{self._stretch} {self._draws}".encode()).digest()
