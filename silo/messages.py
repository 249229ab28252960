"""A request as it came to a silo, and a reply as it leaves: each is decoded once."""

import hashlib
from dataclasses import dataclass
from typing import Self

from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.version import require_version


@dataclass(frozen=True)
class ReceivedRequest:
    """A request of the aggregator, in the silo's version of the protocol."""

    message: pb.Request
    digest: bytes
    """SHA-256 of the bytes as they were received."""
    size: int
    """Number of bytes received."""

    @classmethod
    def read(cls, data: bytes, *, silo: str) -> Self:
        """Decode what came; `MessageError` or `VersionMismatch` where it is no request for this silo."""
        message = decode(pb.Request, data)
        require_version(message.protocol_version, here=f"silo {silo}", there="the aggregator")
        return cls(message, hashlib.sha256(data).digest(), len(data))

    @property
    def kind(self) -> str:
        """Kind of the request."""
        return self.message.WhichOneof("body") or "nothing"


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
