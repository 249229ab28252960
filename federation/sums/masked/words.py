"""Vectors over Z_{2^b} in machine words: masks from a stream cipher, and b bits an entry on the wire.

2^b divides the word's own modulus, so sums may wrap around in the word and only the lowest b bits count. That is why a
mask of whole words is uniform over Z_{2^b} without rejection, and why the modulus is a power of two.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Domain, Session, Vector, require_integers

Words = NDArray[np.unsignedinteger[Any]]
Sign = Literal[1, -1]

_COUNTER_START = bytes(16)
_STRETCH_BYTES = 2**16  # of key stream at a time: it and the words that it masks stay in the processor's cache
_ZEROS = bytes(_STRETCH_BYTES)
_ROWS = 64  # b words of 64 bits hold 64 entries of b bits


@dataclass(frozen=True)
class WordRing:
    """Vectors of `length` entries modulo 2^bits."""

    length: int
    bits: int
    wide: bool = False
    """Whether to count in words of 64 bits even where 32 are enough, though a mask then costs twice as much."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a machine word."""
        return np.dtype("<u8") if self.wide or self.bits > 32 else np.dtype("<u4")

    @property
    def packed_bytes(self) -> int:
        """Size of a vector on the wire."""
        return 8 * self.bits * self._columns

    def zeros(self) -> Words:
        """Return the empty sum."""
        return np.zeros(self.length, dtype=self.dtype)

    def none(self) -> Words:
        """Return an empty vector, in the place of one that was dropped. It is no view, which would keep that one."""
        return np.zeros(0, dtype=self.dtype)

    def words(self, values: NDArray[np.int64]) -> Words:
        """Return the integers as words, reduced."""
        return values.astype(self.dtype)

    def values(self, words: Words) -> NDArray[np.int64]:
        """Return the integers from 0 to 2^bits - 1 that the words stand for."""
        values: NDArray[np.int64] = (words & self._lowest).astype(np.int64)
        return values

    def add_mask(self, words: Words, key: bytes, sign: Sign) -> None:
        """Add or subtract the mask of this key, in place."""
        self.add_masks(words, [(key, sign)])

    def add_masks(self, words: Words, masks: Iterable[tuple[bytes, Sign]]) -> None:
        """Add or subtract each key's mask, in place: AES-256 in counter mode. A key serves one mask only.

        All masks of one stretch come after each other, so that it is in the processor's cache for all but the first.
        """
        streams = [
            (Cipher(algorithms.AES256(key), modes.CTR(_COUNTER_START)).encryptor(), np.add if sign > 0 else np.subtract)
            for key, sign in masks
        ]
        buffer = bytearray(_STRETCH_BYTES + 15)  # the cipher asks for room for a block more
        mask = np.frombuffer(buffer, dtype=self.dtype, count=_STRETCH_BYTES // self.dtype.itemsize)
        for start in range(0, len(words), len(mask)):
            part = words[start : start + len(mask)]
            zeros, drawn = _ZEROS[: part.nbytes], mask[: len(part)]
            for stream, change in streams:
                stream.update_into(zeros, buffer)
                change(part, drawn, out=part)

    def pack(self, words: Words) -> bytes:
        """Pack the lowest b bits of each entry, 64 entries in b words of 64 bits.

        Entries stand in 64 rows, one below the other, so that each row is shifted into place at once.
        """
        packed = np.zeros((self.bits, self._columns), dtype="<u8")
        for number, (word, shift) in enumerate(self._places()):
            row = words[number * self._columns : (number + 1) * self._columns] & self._lowest  # the last may be short
            wide = row.astype("<u8", copy=False)
            packed[word, : len(row)] |= wide << np.uint64(shift)
            if shift + self.bits > 64:
                packed[word + 1, : len(row)] |= wide >> np.uint64(64 - shift)
        return packed.tobytes()

    def unpack(self, data: bytes) -> Words:
        """Return the words that `pack` took, without what stood above their b bits."""
        self.require_packed(data)
        packed = np.frombuffer(data, dtype="<u8").reshape(self.bits, self._columns)
        rows = np.empty((_ROWS, self._columns), dtype="<u8")
        for row, (word, shift) in zip(rows, self._places(), strict=True):
            np.right_shift(packed[word], np.uint64(shift), out=row)
            if shift + self.bits > 64:
                row |= packed[word + 1] << np.uint64(64 - shift)
        rows &= np.uint64(2**self.bits - 1)
        return rows.reshape(-1)[: self.length].astype(self.dtype)

    def require_packed(self, data: bytes) -> None:
        """Raise `MessageError` unless the number of bytes is right; any bytes of that number are a vector."""
        if len(data) != self.packed_bytes:
            raise MessageError(
                f"a vector of {self.length} entries of {self.bits} bits came with {len(data)} bytes, "
                f"expected {self.packed_bytes}"
            )

    @property
    def _lowest(self) -> Any:
        """Mask of the bits that count, as a word."""
        return self.dtype.type(2**self.bits - 1)

    @property
    def _columns(self) -> int:
        return -(-self.length // _ROWS)

    def _places(self) -> list[tuple[int, int]]:
        """The word, and the bit in it, where each row begins."""
        return [divmod(row * self.bits, 64) for row in range(_ROWS)]


def ring_for(domain: Domain, silos: int) -> WordRing:
    """Return the ring of the domain's own modulus if that is a power of two; else a ring that no sum wraps around in.

    Under another modulus whoever adds the uploads therefore sees the sum before it is reduced.
    """
    modulus = require_integers(domain, silos).modulus
    bits = (modulus - 1).bit_length()
    if modulus != 2**bits:
        bits = (silos * (modulus - 1)).bit_length()
    return WordRing(domain.length, bits)


def to_total(domain: Domain, ring: WordRing, words: Words, contributors: tuple[str, ...]) -> Sum:
    """Return the sum that unmasked words stand for."""
    modulus = require_integers(domain, len(contributors)).modulus
    return Sum(ring.values(words) % modulus, contributors, 0.0)


def checked_integers(session: Session, contribution: Vector) -> NDArray[np.int64]:
    """Return a silo's contribution, if it is one of the session's domain."""
    return require_integers(session.domain, len(session.roster)).check(contribution)
