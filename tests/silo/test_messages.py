"""A request as a silo reads it, whatever came."""

import hashlib
from pathlib import Path

import pytest

from siloseal.federation.errors import MessageError, SiloSealError, VersionMismatch
from siloseal.federation.records.audit import AuditLog, entries
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION
from siloseal.silo.messages import LARGEST_NUMBER, GivenReply, ReceivedRequest


def encoded(version: int = PROTOCOL_VERSION, number: int = 7) -> bytes:
    return pb.Request(number=number, run_id=b"run", protocol_version=version, enrol=pb.Enrol()).SerializeToString()


def test_a_request_is_read_with_its_digest_and_its_size() -> None:
    data = encoded()
    request = ReceivedRequest.read(data, silo="north")
    assert (request.kind, request.unreadable, request.size) == ("enrol", None, len(data))
    reply = request.reply_of("north")
    assert (reply.silo, reply.number, reply.request_digest) == ("north", 7, hashlib.sha256(data).digest())


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\xff" * 9, MessageError),
        (encoded(PROTOCOL_VERSION + 1), VersionMismatch),
        (b"", VersionMismatch),
        (encoded(number=LARGEST_NUMBER + 1), MessageError),
        (encoded(number=2**64 - 1), MessageError),
    ],
    ids=["no message", "another version", "empty", "too large a number", "the largest that travels"],
)
def test_what_cannot_be_read_is_answered_by_its_digest_and_nothing_in_it_is_used(
    data: bytes, error: type[SiloSealError]
) -> None:
    request = ReceivedRequest.read(data, silo="north")
    assert type(request.unreadable) is error
    assert request.message == pb.Request()
    assert (request.reply_of("north").number, request.digest) == (0, hashlib.sha256(data).digest())


def test_the_largest_number_that_is_read_is_one_that_the_audit_log_takes(tmp_path: Path) -> None:
    """A silo that has worked and cannot record it would begin with the same request again and again."""
    request = ReceivedRequest.read(encoded(number=LARGEST_NUMBER), silo="north")
    assert (request.unreadable, request.message.number) == (None, LARGEST_NUMBER)
    with AuditLog(tmp_path / "audit.jsonl", who="north") as log:
        log.record("answers", number=request.message.number)
    (entry,) = entries(tmp_path / "audit.jsonl")
    assert entry.fields["number"] == LARGEST_NUMBER


def test_a_reply_that_is_given_again_has_the_same_bytes_and_kind() -> None:
    given = GivenReply.encode(pb.Reply(silo="north", number=7, finished=pb.Finished()))
    assert GivenReply.again(given.data) == given
    assert given.kind == "finished"
