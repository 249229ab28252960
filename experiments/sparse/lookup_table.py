"""Invertible Bloom lookup tables (Goodrich and Mitzenmacher 2011): a multiset of messages as a vector that adds up.

A table has three thirds. A message (key, value) is added to one cell of each third, which a hash of the whole message
chooses. A cell holds the sums, over its messages, of

    1 | limbs of the key | limbs of the value | checksum        limbs and checksum: 32 bits each

so tables add entry by entry, and the sum of all silos' tables is the table of all their messages. It is read by
peeling: a cell that holds nothing but k copies of one message has k times that message's fields; the message is taken
out of its three cells, which may leave others with one message only, and so on. Equal messages come back with their
multiplicity; the same key with another value is another message.

**Size.** The number of cells follows the announced capacity, not what was sent. Two things stop the peeling of n
messages in m cells, and `cells_for` leaves room for both:

- Too few cells. Peeling almost surely stops below 1.2218 n and almost never above, and the change takes about sqrt(n).
- Two messages with the same three cells, with probability of about n^2 / (2 (m/3)^3): it decides below a thousand.

In 600 to 40,000 simulated tables each, full ones of 1.2218 n + 8 sqrt(n) cells failed

    capacity             5     20     30    100    300   1000   3000  10000
    cells a message    4.8    3.2    2.7    2.0    1.7    1.5    1.4    1.3
    failed           2.1 %  2.3 %  2.5 %  1.8 %  1.1 %  0.4 % 0.07 %   none        (30 is the worst)
"""

import hashlib
import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from siloseal.experiments.sparse.errors import TableForged, TableStuck, TooManyMessages
from siloseal.federation.errors import DomainError
from siloseal.federation.sums.session import IntegerDomain, Vector

HASHES = 3
LIMB_BITS = 32
LARGEST_FIELD = 2**LIMB_BITS - 1
LARGEST_CAPACITY = 2**28  # the modulus is then 2^60, so that a few tables can be added in 64 bits
SEED_BYTES = 32
CELLS_PER_MESSAGE = 1.2217931327672216
"""The peeling threshold of three hashes, 1 / min over x of x / (3 (1 - exp(-x))^2), as the capacity grows."""

Message = tuple[int, int]  # key and value


def cells_for(capacity: int) -> int:
    """Number of cells of a table for this many messages, a multiple of three. Where the numbers come from is above."""
    return HASHES * math.ceil((CELLS_PER_MESSAGE * capacity + 8 * math.sqrt(capacity)) / HASHES)


@dataclass(frozen=True)
class TableShape:
    """Shape of a table, announced before anyone sends: the most messages of all silos together, and their width."""

    capacity: int
    key_bits: int
    value_bits: int
    """Bits of a value; 0 for messages that are keys only, whose value is 0."""

    def __post_init__(self) -> None:
        if not 1 <= self.capacity <= LARGEST_CAPACITY:
            raise DomainError(f"a sparse sum carries 1 to {LARGEST_CAPACITY} messages, found {self.capacity}")
        if not (1 <= self.key_bits <= 64 and 0 <= self.value_bits <= 64):
            raise DomainError(f"keys have 1 to 64 bits and values 0 to 64, found {self.key_bits} and {self.value_bits}")

    @cached_property
    def cells(self) -> int:
        """Number of cells, by the capacity alone."""
        return cells_for(self.capacity)

    @cached_property
    def fields(self) -> int:
        """Number of fields of one cell: count, limbs, checksum."""
        return 2 + len(_limbs(0, self.key_bits)) + len(_limbs(0, self.value_bits))

    @cached_property
    def domain(self) -> IntegerDomain:
        """All fields of all cells, modulo a power of two that no field reaches with as many messages as announced."""
        return IntegerDomain(self.cells * self.fields, 1 << (self.capacity * LARGEST_FIELD).bit_length())


@dataclass(frozen=True)
class SparseTable:
    """A shape, and the public seed that keys its hash and checksum."""

    shape: TableShape
    seed: bytes

    def __post_init__(self) -> None:
        if len(self.seed) != SEED_BYTES:
            raise DomainError(f"the seed of a sparse table has {len(self.seed)} bytes, expected {SEED_BYTES}")

    def encode(self, messages: Sequence[Message]) -> NDArray[np.int64]:
        """Return one silo's table, as a vector of the shape's domain."""
        if len(messages) > self.shape.capacity:
            raise DomainError(
                f"a silo has {len(messages)} messages, but {self.shape.capacity} were announced for all silos "
                "together; send fewer, or announce more"
            )
        for key, value in messages:
            _require(key, self.shape.key_bits, "key")
            _require(value, self.shape.value_bits, "value")
        cells = np.zeros((self.shape.cells, self.shape.fields), dtype=np.int64)
        if messages:
            places, entries = zip(*map(self._entry, messages), strict=True)
            # (messages, 3) cells, each of which gets its message's (1, fields) entry; `add.at` adds where they repeat.
            np.add.at(cells, np.array(places), np.array(entries, dtype=np.int64)[:, None, :])
        return cells.reshape(-1)

    def decode(self, total: Vector) -> Counter[Message]:
        """Return the messages of all silos, from the sum of their tables: all of them, or an error."""
        cells = self.shape.domain.check(total).reshape(self.shape.cells, self.shape.fields).copy()
        sent = left = self._count(cells)
        found = Counter[Message]()
        pending: list[int] = np.flatnonzero(cells.any(axis=1)).tolist()
        while pending:
            cell = pending.pop()
            content: list[int] = cells[cell].tolist()
            # Each message found leaves fewer to find, so this ends, whatever a silo forged.
            if not 1 <= content[0] <= left:
                continue
            message = self._mean(content)
            places, entry = self._entry(message)
            if cell in places and [content[0] * field for field in entry] == content:
                found[message] += content[0]
                left -= content[0]
                cells[places] -= content  # below zero if forged, or a checksum collided: it then stays there
                pending += places
        if cells.any():
            raise TableStuck(
                f"{left} of {sent} messages share their cells and cannot be told apart, by bad luck or because a silo "
                "meant them to; sum again under another seed"
            )
        return found

    def _entry(self, message: Message) -> tuple[list[int], list[int]]:
        """Return the three cells of a message, and what it adds to each."""
        key, value = message
        digest = hashlib.blake2b(struct.pack("<QQ", key, value), key=self.seed, digest_size=28).digest()
        *words, checksum = struct.unpack("<QQQI", digest)
        third = self.shape.cells // HASHES
        places = [number * third + word % third for number, word in enumerate(words)]
        return places, [1, *_limbs(key, self.shape.key_bits), *_limbs(value, self.shape.value_bits), checksum]

    def _mean(self, content: list[int]) -> Message:
        """Return the cell's message, if all its messages are the same. What is too wide for a message is cut off."""
        (count, *limbs, _), key_bits, value_bits = content, self.shape.key_bits, self.shape.value_bits
        split = len(_limbs(0, key_bits))
        return _joined(limbs[:split]) // count % 2**key_bits, _joined(limbs[split:]) // count % 2**value_bits

    def _count(self, cells: NDArray[np.int64]) -> int:
        """Return how many messages the table holds, at most as many as announced."""
        capacity, modulus = self.shape.capacity, self.shape.domain.modulus
        # Every message is in all thirds. A wrap-around at 2^64 changes nothing modulo a smaller power of two.
        sums = cells.reshape(HASHES, -1, self.shape.fields).sum(axis=1) % modulus  # (3, fields)
        sent = int(sums[0, 0])
        if (sums != sums[0]).any() or sent > modulus // 2:
            raise TableForged(
                "the sum is of no messages: its thirds differ, or its count is negative. A silo sent something else "
                "than a table of this session; another seed does not help"
            )
        if sent > capacity:
            raise TooManyMessages(
                f"the silos sent {sent} messages together, but {capacity} were announced: {sent - capacity} too many; "
                "announce a larger capacity, another seed does not help"
            )
        return sent


def _require(number: int, bits: int, what: str) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise DomainError(f"a message's {what} is of type {type(number).__name__}, expected int")
    if not 0 <= number < 2**bits:
        raise DomainError(f"a message's {what} is outside 0 .. 2^{bits} - 1; announce more bits, or hash it first")


def _limbs(number: int, bits: int) -> list[int]:
    return [number >> shift & LARGEST_FIELD for shift in range(0, bits, LIMB_BITS)]


def _joined(limbs: list[int]) -> int:
    return sum(limb << LIMB_BITS * position for position, limb in enumerate(limbs))
