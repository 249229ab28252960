"""The envelope of a sum's messages: another session, another round and too many bytes are refused."""

from dataclasses import replace

import pytest

from siloseal.federation.errors import MessageError, SessionMismatch, WrongRound
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.federation.transport.wire import codec

SESSION = Session(bytes(32), ("north", "south"), RealDomain(3, 1.0), "plain", 2, (bytes(32), bytes(31) + b"1"))


def test_a_message_is_bound_to_its_session_and_round() -> None:
    data = wrap(SESSION, round=2, body=b"body")
    assert unwrap(SESSION, round=2, data=data) == b"body"
    with pytest.raises(SessionMismatch):
        unwrap(replace(SESSION, id=b"\1" * 32), round=2, data=data)
    with pytest.raises(WrongRound):
        unwrap(SESSION, round=1, data=data)


def test_an_oversized_message_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wrap(SESSION, round=2, body=bytes(1000))
    monkeypatch.setattr(codec, "MAX_MESSAGE_BYTES", len(data) - 1)
    with pytest.raises(MessageError):
        unwrap(SESSION, round=2, data=data)
