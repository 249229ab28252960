"""One request to all silos of a step, and how a reply to it is read. Whatever comes may be hostile."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from siloseal.federation.errors import MessageError, WrongRound
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, require_at_most
from siloseal.federation.transport.wire.version import require_version

ANSWERS = {"enrol": "enrolled", "begin": "begun", "nonces": "ready", "kernel_mean": "prepared", "train": "prepared",
           "query": "prepared", "average": "prepared", "sum": "sum", "finish": "finished"}  # fmt: skip
"""What a reply holds, by what was asked."""

SMALL_BYTES = 2**16
"""All replies but those of a sum, and what stands beside a sum's message, are smaller by far: no more is read."""

Check = Callable[[str, pb.Reply], None]
"""Raises a typed error for a silo's reply that cannot be right."""


@dataclass
class Asking:
    """One request under way, to all silos of a step."""

    number: int
    asked: str
    """Kind of the request."""
    requests: Mapping[str, bytes]
    """What each silo is sent."""
    largest: int
    """Size of the largest reply that can be right, in bytes."""
    check: Check
    replies: dict[str, pb.Reply] = field(default_factory=dict)
    """The replies that were accepted."""

    @property
    def missing(self) -> dict[str, bytes]:
        """The requests that have no reply yet."""
        return {silo: request for silo, request in self.requests.items() if silo not in self.replies}

    @cached_property
    def digests(self) -> dict[str, bytes]:
        """The digest of each silo's request; equal requests are hashed once."""
        distinct = {id(request): request for request in self.requests.values()}
        known = {key: hashlib.sha256(request).digest() for key, request in distinct.items()}
        return {silo: known[id(request)] for silo, request in self.requests.items()}

    def read(self, silo: str, data: bytes) -> pb.Reply:
        """A silo's reply to this request, or its refusal; `ProtocolError` for anything else."""
        require_at_most(self.largest, silo, data)
        reply = decode(pb.Reply, data)
        require_version(reply.protocol_version, here="the aggregator", there=f"silo {silo}")
        if len(data) > len(reply.sum) + SMALL_BYTES:
            raise MessageError(f"{silo} answered with {len(data)} bytes, of which {len(reply.sum)} belong to the sum")
        if reply.silo == silo and 0 < reply.number < self.number:
            raise WrongRound(
                f"{silo} answered request {reply.number}, which is over; it goes on with request {self.number}"
            )
        # A silo that could not read a request knows no number to refuse, only the digest of what came.
        answered = self.number if reply.number == 0 and reply.HasField("refusal") else reply.number
        if reply.silo != silo or answered != self.number or reply.request_digest != self.digests[silo]:
            raise MessageError(
                f"{silo} was asked request {self.number}, but {reply.silo or 'nobody'} answered request {reply.number}"
                f"{'' if reply.number != self.number else ', or another one of that number'}"
            )
        if (kind := reply.WhichOneof("body")) not in (ANSWERS[self.asked], "refusal"):
            raise MessageError(f"{silo} answered {kind or 'nothing'}, expected {ANSWERS[self.asked]}")
        return reply
