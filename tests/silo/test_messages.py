"""A request as a silo reads it, whatever came."""

import hashlib

import pytest

from siloseal.federation.errors import MessageError, SiloSealError, VersionMismatch
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.silo.messages import GivenReply, ReceivedRequest


def encoded(version: int = PROTOCOL_VERSION) -> bytes:
    return pb.Request(number=7, run_id=b"run", protocol_version=version, enrol=pb.Enrol()).SerializeToString()


def test_a_request_is_read_with_its_digest_and_its_size() -> None:
    data = encoded()
    request = ReceivedRequest.read(data, silo="north")
    assert (request.kind, request.unreadable, request.size) == ("enrol", None, len(data))
    reply = request.reply_of("north")
    assert (reply.silo, reply.number, reply.request_digest) == ("north", 7, hashlib.sha256(data).digest())


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"\xff" * 9, MessageError), (encoded(PROTOCOL_VERSION + 1), VersionMismatch), (b"", VersionMismatch)],
    ids=["no message", "another version", "empty"],
)
def test_what_cannot_be_read_is_answered_by_its_digest_and_nothing_in_it_is_used(
    data: bytes, error: type[SiloSealError]
) -> None:
    request = ReceivedRequest.read(data, silo="north")
    assert type(request.unreadable) is error
    assert request.message == pb.Request()
    assert (request.reply_of("north").number, request.digest) == (0, hashlib.sha256(data).digest())


def test_a_reply_that_is_given_again_has_the_same_bytes_and_kind() -> None:
    given = GivenReply.encode(pb.Reply(silo="north", number=7, finished=pb.Finished()))
    assert GivenReply.again(given.data) == given
    assert given.kind == "finished"
