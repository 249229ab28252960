"""Readings of a message of a secure sum without any key: numbers, and packed words under their masks.

Ciphertexts are not decoded here as if they hid nothing; `uploads.read_upload` does so for CKKS.
"""

from collections.abc import Iterator

import numpy as np

from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.sealing import NONCE_BYTES, SEAL_BYTES
from siloseal.federation.sums.session import Domain, IntegerDomain, Vector
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


def stands_in(message: bytes, domain: Domain, silos: int, vector: Vector, *, tolerance: float) -> bool:
    """Whether the vector can be read off the message: as numbers at any place, or as words without mask and seal."""
    return any(_holds(numbers, vector, tolerance) for numbers in _readings(message, domain, silos))


def packed_words(message: bytes, domain: Domain, silos: int) -> Vector | None:
    """Return a vector of the masked sums as it travels; of a sealed one, what stands inside the seal; else None."""
    body = decode(pb.SumMessage, message).body
    if not isinstance(domain, IntegerDomain):
        return None
    ring = ring_for(domain, silos)
    if len(body) == ring.packed_bytes + SEAL_BYTES:
        body = body[NONCE_BYTES : NONCE_BYTES - SEAL_BYTES]  # the rest of the seal comes behind the message
    return ring.values(ring.unpack(body)) if len(body) == ring.packed_bytes else None


def _readings(message: bytes, domain: Domain, silos: int) -> Iterator[Vector]:
    body = decode(pb.SumMessage, message).body
    for dtype in ("<f4", "<f8", "<i8"):
        size = np.dtype(dtype).itemsize
        for start in range(size):
            part = body[start:]
            yield np.frombuffer(part[: len(part) // size * size], dtype=dtype)
    if (words := packed_words(message, domain, silos)) is not None:
        yield words


def _holds(numbers: Vector, vector: Vector, tolerance: float) -> bool:
    """Whether the vector stands anywhere in the numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        starts = np.flatnonzero(np.abs(numbers - vector[0]) <= tolerance)
        parts = (numbers[start : start + len(vector)] for start in starts)
        return any(len(part) == len(vector) and np.abs(part - vector).max() <= tolerance for part in parts)
