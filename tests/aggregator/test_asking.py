"""What counts as a reply to a request, whoever sent it."""

import hashlib
from typing import Any

import pytest

from siloseal.aggregator.asking import ANSWERS, SMALL_BYTES, Asking
from siloseal.federation.errors import MessageError, MessageTooLarge, SiloSealError, VersionMismatch, WrongRound
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

REQUEST = b"a request of which silos see the bytes only"
ASKING = Asking(7, "train", dict.fromkeys(("north", "east"), REQUEST), SMALL_BYTES, lambda *_: None)


def reply(**changes: Any) -> bytes:
    """The right reply of north, but for these changes."""
    right = {"silo": "north", "number": 7, "request_digest": hashlib.sha256(REQUEST).digest(),
             "protocol_version": PROTOCOL_VERSION, "prepared": pb.Prepared(epsilon_spent=1.5)}  # fmt: skip
    return pb.Reply(**{**right, **changes}).SerializeToString()


def test_the_right_reply_is_read() -> None:
    assert ASKING.read("north", reply()).prepared.epsilon_spent == 1.5


@pytest.mark.parametrize("number", [7, 0], ids=["its number", "none, as it could not be read"])
def test_a_refusal_answers_every_request(number: int) -> None:
    refusal = pb.Refusal(message="no")
    assert ASKING.read("north", reply(number=number, prepared=None, refusal=refusal)).refusal == refusal


WRONG: dict[str, tuple[bytes, type[SiloSealError]]] = {
    "too long": (bytes(SMALL_BYTES + 1), MessageTooLarge),
    "no message": (b"\xff" * 9, MessageError),
    "another version": (reply(protocol_version=PROTOCOL_VERSION + 1), VersionMismatch),
    "of an earlier request": (reply(number=6), WrongRound),
    "of a later request": (reply(number=8), MessageError),
    "without a number": (reply(number=0), MessageError),
    "of another silo": (reply(silo="east"), MessageError),
    "to other bytes": (reply(request_digest=bytes(32)), MessageError),
    "to another question": (reply(prepared=None, finished=pb.Finished()), MessageError),
    "empty": (reply(prepared=None), MessageError),
}


@pytest.mark.parametrize(("data", "error"), WRONG.values(), ids=WRONG)
def test_everything_else_is_refused(data: bytes, error: type[SiloSealError]) -> None:
    with pytest.raises(SiloSealError) as raised:
        ASKING.read("north", data)
    assert type(raised.value) is error


def test_who_has_not_answered_is_missing() -> None:
    asking = Asking(7, "train", ASKING.requests, SMALL_BYTES, lambda *_: None)
    asking.replies["east"] = pb.Reply()
    assert asking.missing == {"north": REQUEST}


def test_every_kind_of_request_has_an_answer() -> None:
    (kinds,) = pb.Request.DESCRIPTOR.oneofs
    assert set(ANSWERS) == {field.name for field in kinds.fields}
    assert {*ANSWERS.values(), "refusal"} == {field.name for field in pb.Reply.DESCRIPTOR.oneofs[0].fields}
