"""What the silos must have in common before their modules can be averaged: names, types and shapes, and no value."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Self

from siloseal.federation.errors import MessageError
from siloseal.federation.printable import printable
from siloseal.federation.transport.wire import messages_pb2 as pb

MOST_VALUES = 2**31
LONGEST_WORDS = 2**14
"""Number of characters that travel in words; the digest is of everything."""
DIGEST_BYTES = 32


@dataclass(frozen=True)
class Structure:
    """The entries that a silo averages, one line each: name, type and shape."""

    digest: bytes
    length: int
    """Number of values in all entries."""
    words: str
    """The lines for a person, perhaps cut short."""

    @classmethod
    def of(cls, lines: Sequence[str], length: int) -> Self:
        """The structure of these entries."""
        text = "\n".join(lines)
        return cls(hashlib.sha256(text.encode()).digest(), length, text[:LONGEST_WORDS])

    def to_wire(self) -> pb.Structure:
        """The structure as a message."""
        return pb.Structure(digest=self.digest, length=self.length, words=self.words)

    @classmethod
    def from_wire(cls, wire: pb.Structure, silo: str) -> Self:
        """The structure in a silo's message, or `MessageError`."""
        if len(wire.digest) != DIGEST_BYTES or not 1 <= wire.length <= MOST_VALUES:
            raise MessageError(
                f"{silo} averages {wire.length} values under a digest of {len(wire.digest)} bytes, expected 1 to "
                f"{MOST_VALUES} values and {DIGEST_BYTES} bytes; both sides must run the same version"
            )
        return cls(wire.digest, wire.length, wire.words[:LONGEST_WORDS])


def difference(silo: str, one: Structure, other_silo: str, other: Structure) -> str:
    """The first entry in which the modules of two silos differ, in words that name both; empty where they agree."""
    if (one.digest, one.length) == (other.digest, other.length):
        return ""
    ours, theirs = one.words.split("\n"), other.words.split("\n")
    pairs = zip_longest(ours, theirs, fillvalue="nothing more")
    here, there = next(((a, b) for a, b in pairs if a != b), (f"{one.length} values", f"{other.length} values"))
    return f"{silo}'s module has {printable(here)} where {other_silo}'s has {printable(there)}"
