"""Many small integers in one large one, each in a lane that is wide enough for the sum (Zhang et al. 2020).

Values are not negative, so that lanes need no sign and no carry ever leaves one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DomainError, OpeningFailed

_WORD_BITS = 64


@dataclass(frozen=True)
class Batching:
    """Layout of vectors of `length` integers up to `largest`, and of sums of `addends` of them, in plaintexts."""

    length: int
    largest: int
    addends: int
    plaintext_bits: int
    """Bits of the integers that fit a plaintext."""

    def __post_init__(self) -> None:
        if self.length < 1 or self.largest < 1 or self.addends < 1 or self.lane_bits >= _WORD_BITS:
            raise DomainError(
                f"{self.addends} vectors of {self.length} entries up to {self.largest} cannot be batched: there must "
                "be an entry, and a sum of 1 to 2^63 - 1; lower precision_bits or the modulus"
            )
        if self.lane_bits > self.plaintext_bits:
            raise DomainError(
                f"a lane of {self.lane_bits} bits does not fit a plaintext of {self.plaintext_bits}; raise key_bits"
            )

    @property
    def lane_bits(self) -> int:
        """Bits of a lane, just enough for the largest sum."""
        return (self.addends * self.largest).bit_length()

    @property
    def lanes(self) -> int:
        """Number of lanes in a plaintext."""
        return self.plaintext_bits // self.lane_bits

    @property
    def plaintexts(self) -> int:
        """Number of plaintexts of a vector."""
        return -(-self.length // self.lanes)

    def pack(self, values: NDArray[np.int64]) -> list[int]:
        """Return the plaintexts of a vector."""
        if values.shape != (self.length,) or values.min() < 0 or values.max() > self.largest:
            raise DomainError(f"a vector to batch must have {self.length} integers from 0 to {self.largest}")
        words = values.astype("<u8")
        return [self._pack(words[start : start + self.lanes]) for start in range(0, self.length, self.lanes)]

    def unpack(self, plaintexts: Sequence[int]) -> NDArray[np.int64]:
        """Return the sums that plaintexts hold; `OpeningFailed` for plaintexts that no such vectors add up to."""
        reach = 1 << (self.lanes * self.lane_bits)
        if len(plaintexts) != self.plaintexts or not all(0 <= plaintext < reach for plaintext in plaintexts):
            raise OpeningFailed(
                f"{len(plaintexts)} plaintexts are not {self.plaintexts} of {self.lanes} lanes of {self.lane_bits} bits"
                ": a silo encrypted something else than a vector; begin another sum"
            )
        sums = np.concatenate([self._unpack(plaintext) for plaintext in plaintexts])
        if sums[self.length :].any() or sums.max() > self.addends * self.largest:
            raise OpeningFailed(
                f"a lane holds more than {self.addends} silos can put there: one encrypted something else than a "
                "vector; begin another sum"
            )
        return sums[: self.length].astype(np.int64)

    def require_addends(self, count: int) -> None:
        """Raise `DomainError` for more vectors than the lanes were made for: their sum would run into the next lane."""
        if count > self.addends:
            raise DomainError(f"{count} vectors are to be added, but the lanes were made for {self.addends}")

    def _pack(self, words: NDArray[np.uint64]) -> int:
        """Join the lowest `lane_bits` bits of each word, one after the other."""
        octets = words.view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(octets, axis=1, count=self.lane_bits, bitorder="little")
        return int.from_bytes(np.packbits(bits.reshape(-1), bitorder="little").tobytes(), "little")

    def _unpack(self, plaintext: int) -> NDArray[np.uint64]:
        size = self.lanes * self.lane_bits
        octets = np.frombuffer(plaintext.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
        bits = np.zeros((self.lanes, _WORD_BITS), dtype=np.uint8)
        bits[:, : self.lane_bits] = np.unpackbits(octets, count=size, bitorder="little").reshape(self.lanes, -1)
        return np.packbits(bits, axis=1, bitorder="little").view("<u8").reshape(-1)
