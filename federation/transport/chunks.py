"""Large messages in small pieces, with a running digest.

Each chunk carries SHA-256 of all data up to its end: damage is found at the chunk where it happened, and nothing that
was not sent passes for whole. The first chunk names the size, so that a message over the limit is refused before it is
read, and so that memory is bounded by what was announced.
"""

import hashlib
from collections.abc import Iterable, Iterator

from federation.errors import MessageError
from federation.wire import messages_pb2 as pb

CHUNK_BYTES = 2**20


def to_chunks(message: bytes) -> Iterator[pb.Chunk]:
    """The message in pieces. It must not be empty."""
    digest, view = hashlib.sha256(), memoryview(message)
    for start in range(0, len(message), CHUNK_BYTES):
        data = view[start : start + CHUNK_BYTES]
        digest.update(data)
        yield pb.Chunk(size=0 if start else len(message), data=bytes(data), digest=digest.digest())


def from_chunks(chunks: Iterable[pb.Chunk], *, limit: int) -> Iterator[bytes]:
    """Whole messages, as they become complete."""
    parts, size, received, digest = list[bytes](), 0, 0, hashlib.sha256()
    for chunk in chunks:
        if not parts:
            size, received, digest = chunk.size, 0, hashlib.sha256()
            _require_allowed(size, limit)
        elif chunk.size:
            raise MessageError(f"a message began when only {received} of {size} bytes of the one before it had come")
        received += len(chunk.data)
        if received > size or not chunk.data:
            raise MessageError(f"a chunk of {len(chunk.data)} bytes came after {received - len(chunk.data)} of {size}")
        digest.update(chunk.data)
        if digest.digest() != chunk.digest:
            raise MessageError(f"a chunk was damaged on its way: {received} of {size} bytes do not have its digest")
        parts.append(chunk.data)
        if received == size:
            yield b"".join(parts)
            parts = []
    if parts:
        raise MessageError(f"a message ended after {received} of {size} bytes: the connection was cut")


def _require_allowed(size: int, limit: int) -> None:
    if not size:
        raise MessageError("a message began without its size; both sides must run the same version")
    if size > limit:
        raise MessageError(
            f"a message of {size} bytes was announced, at most {limit} are read; raise limits.message_mib in this "
            "side's config if the job needs it"
        )
