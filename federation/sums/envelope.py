"""The envelope of every message of a sum, which binds it to its session and round."""

from siloseal.federation.errors import SessionMismatch, WrongRound
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode


def wrap(session: Session, *, round: int, body: bytes) -> bytes:
    """A scheme's message, bound to its session and round."""
    return pb.SumMessage(session_digest=session.digest, round=round, body=body).SerializeToString()


def unwrap(session: Session, *, round: int, data: bytes) -> bytes:
    """The body of the message that this session expects next, and of no other."""
    message = decode(pb.SumMessage, data)
    if message.session_digest != session.digest:
        raise SessionMismatch("a message of another session came in; roster, domain, scheme and quorum must agree")
    if message.round != round:
        raise WrongRound(f"a message of round {message.round} came in, expected round {round}")
    return message.body
