"""A request as it came to a silo, and a reply as it leaves. A request is decoded once, where it comes in."""

import hashlib
from dataclasses import dataclass
from typing import Self

from siloseal.federation.errors import MessageError, SiloSealError, VersionMismatch
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version

LARGEST_NUMBER = 2**53
"""Largest number of a request. Audit log and events hold it, and all readers of JSON, as a whole number."""


@dataclass(frozen=True)
class ReceivedRequest:
    """What the aggregator sent as a request."""

    message: pb.Request
    """The request; empty if it cannot be read."""
    digest: bytes
    """SHA-256 of the bytes as they were received."""
    size: int
    """Number of bytes received."""
    unreadable: SiloSealError | None = None
    """Error with which the silo refuses bytes that are no request of its version of the protocol."""

    @classmethod
    def read(cls, data: bytes, *, silo: str) -> Self:
        """Decode what came."""
        digest, size = hashlib.sha256(data).digest(), len(data)
        try:
            message = decode(pb.Request, data)
            require_version(message.protocol_version, here=f"silo {silo}", there="the aggregator")
            if message.number > LARGEST_NUMBER:
                raise MessageError(f"a request has number {message.number}, expected at most {LARGEST_NUMBER}")
        except (MessageError, VersionMismatch) as error:
            return cls(pb.Request(), digest, size, error)
        return cls(message, digest, size)

    @property
    def kind(self) -> str:
        """Kind of the request."""
        return self.message.WhichOneof("body") or "nothing"

    def reply_of(self, silo: str) -> pb.Reply:
        """A reply of this silo that has no content yet. One to what cannot be read has the digest, and number 0."""
        return pb.Reply(
            silo=silo, number=self.message.number, request_digest=self.digest, protocol_version=PROTOCOL_VERSION
        )


@dataclass(frozen=True)
class GivenReply:
    """A reply of the silo."""

    data: bytes
    kind: str
    """Kind of the reply."""

    @classmethod
    def encode(cls, message: pb.Reply) -> Self:
        """A new reply."""
        return cls(message.SerializeToString(deterministic=True), message.WhichOneof("body") or "nothing")

    @classmethod
    def again(cls, data: bytes) -> Self:
        """A reply that was given before, byte for byte."""
        return cls(data, decode(pb.Reply, data).WhichOneof("body") or "nothing")
