"""Large messages in small pieces, with a running digest.

Each chunk carries SHA-256 of all data up to its end: damage is found at the chunk where it happened, and nothing that
was not sent passes for whole. The first chunk names the size, so that a message over the limit is refused before it is
read, and so that memory is bounded by what was announced. Whoever reads knows the limit, and why it is the limit.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator

from siloseal.federation.errors import MessageError, MessageTooLarge
from siloseal.federation.transport.wire import consortium_pb2 as pb

CHUNK_BYTES = 2**19
"""Size of a chunk. From 1 MiB on, allocators return each chunk's memory to the system: that costs more than sending."""


def to_chunks(message: bytes) -> Iterator[pb.Chunk]:
    """The message in pieces. It must not be empty."""
    digest = hashlib.sha256()
    for start in range(0, len(message), CHUNK_BYTES):
        data = message[start : start + CHUNK_BYTES]
        digest.update(data)
        yield pb.Chunk(size=0 if start else len(message), data=data, digest=digest.digest())


def from_chunks(chunks: Iterable[pb.Chunk], *, limit: int, why: str) -> Iterator[bytes]:
    """Whole messages, as they become complete. `why` tells the sender what the limit comes from, and what to do."""
    whole, size, received, digest = io.BytesIO(), 0, 0, hashlib.sha256()
    for chunk in chunks:
        data = chunk.data
        if not received:
            _require_allowed(chunk.size, limit, why)
            whole, size, digest = io.BytesIO(), chunk.size, hashlib.sha256()
        elif chunk.size:
            raise MessageError(f"a message began when only {received} of {size} bytes of the last one had come")
        if not 0 < len(data) <= size - received:
            raise MessageError(f"a chunk of {len(data)} bytes came after {received} of {size}")
        received += len(data)
        digest.update(data)
        if digest.digest() != chunk.digest:
            raise MessageError(f"a chunk was damaged on its way: {received} of {size} bytes differ from its digest")
        whole.write(data)  # one buffer that grows, and becomes the message without another copy
        if received == size:
            received = 0
            yield whole.getvalue()
    if received:
        raise MessageError(f"a message ended after {received} of {size} bytes: the connection was cut")


def only_message(chunks: Iterable[pb.Chunk], *, limit: int, why: str) -> bytes:
    """The one message that these chunks are; a second one is refused before it takes memory."""
    coming = iter(chunks)
    message = next(from_chunks(coming, limit=limit, why=why), None)
    if message is None:
        raise MessageError("nothing came in a delivery, expected one message")
    if next(coming, None) is not None:
        raise MessageError("more than one message came in a delivery, expected one")
    return message


def _require_allowed(size: int, limit: int, why: str) -> None:
    if not size:
        raise MessageError("a message began without its size; both sides must run the same version")
    if size > limit:
        raise MessageTooLarge(f"a message of {size} bytes was announced, at most {limit} are read: {why}")
