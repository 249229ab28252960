"""Sessions and the codec: what binds, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from siloseal.federation.errors import DomainError, MessageError, SessionMismatch, WrongRound
from siloseal.federation.sums.session import IntegerDomain, RealDomain, Session
from siloseal.federation.transport.wire import codec, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, from_array, to_array, unwrap, wrap

SESSION = Session(bytes(32), ("north", "south"), RealDomain(3, 1.0), "plain", 2, (bytes(32), bytes(31) + b"1"))


@pytest.mark.parametrize(
    "changed",
    [
        {"id": b"\1" * 32},
        {"roster": ("north", "west")},
        {"roster": ("south", "north")},
        {"domain": RealDomain(3, 2.0)},
        {"domain": RealDomain(4, 1.0)},
        {"domain": IntegerDomain(3, 16)},
        {"scheme": "other"},
        {"quorum": 1},
    ],
)
def test_the_digest_changes_with_everything_that_is_agreed(changed: dict[str, object]) -> None:
    assert replace(SESSION, **changed).digest != SESSION.digest  # type: ignore[arg-type]


@pytest.mark.parametrize("domain", [RealDomain(3, 1.0), IntegerDomain(3, 2**40)])
def test_a_session_survives_the_wire(domain: RealDomain | IntegerDomain) -> None:
    session = replace(SESSION, domain=domain)
    again = Session.from_wire(decode(sums_pb2.SumSession, session.to_wire().SerializeToString()))
    assert again == session
    assert again.digest == session.digest


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": b"short"}, "32"),
        ({"roster": ("north", "north")}, "once"),
        ({"roster": ("north", "")}, "once"),
        ({"quorum": 0}, "quorum"),
        ({"quorum": 3}, "quorum"),
    ],
)
def test_a_session_that_makes_no_sense_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        replace(SESSION, **changed)  # type: ignore[arg-type]


def test_a_session_without_a_domain_is_refused() -> None:
    with pytest.raises(DomainError, match="domain"):
        Session.from_wire(sums_pb2.SumSession(id=bytes(32), roster=["north"], quorum=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_an_array_survives_the_wire(dtype: type) -> None:
    values = np.arange(-3, 4).astype(dtype)
    again = from_array(to_array(values), dtype=np.dtype(dtype).newbyteorder("<").str, length=7)
    np.testing.assert_array_equal(again, values)
    assert again.dtype == dtype


def test_an_array_of_the_other_byte_order_arrives_as_the_same_numbers() -> None:
    values = np.array([1.5, -2.0], dtype=">f4")
    np.testing.assert_array_equal(from_array(to_array(values), dtype="<f4", length=2), values)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (sums_pb2.Array(dtype="<f4", shape=[3], data=bytes(11)), "11 bytes"),
        (sums_pb2.Array(dtype="<f4", shape=[3], data=bytes(13)), "13 bytes"),
        (sums_pb2.Array(dtype="<f8", shape=[3], data=bytes(24)), "expected <f4"),
        (sums_pb2.Array(dtype="|O", shape=[3], data=bytes(24)), "expected <f4"),
        (sums_pb2.Array(dtype="<f4", shape=[2**62], data=bytes(12)), "expected <f4"),
        (sums_pb2.Array(dtype="<f4", shape=[1, 3], data=bytes(12)), "expected <f4"),
        (sums_pb2.Array(), "no dtype"),
        (to_array(np.array([1, np.nan, 2], dtype=np.float32)), "NaN"),
        (to_array(np.array([1, np.inf, 2], dtype=np.float32)), "infinity"),
    ],
)
def test_an_array_that_is_not_what_was_agreed_is_refused(array: sums_pb2.Array, message: str) -> None:
    with pytest.raises(MessageError, match=message):
        from_array(array, dtype="<f4", length=3)


def test_an_array_of_objects_does_not_travel() -> None:
    with pytest.raises(MessageError):
        to_array(np.array([object()]))


def test_a_message_is_bound_to_its_session_and_round() -> None:
    data = wrap(SESSION, round=2, body=b"body")
    assert unwrap(SESSION, round=2, data=data) == b"body"
    with pytest.raises(SessionMismatch):
        unwrap(replace(SESSION, id=b"\1" * 32), round=2, data=data)
    with pytest.raises(WrongRound):
        unwrap(SESSION, round=1, data=data)


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(MessageError):
        decode(pb.Request, b"\xff\xff\xff")


def test_an_oversized_message_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = wrap(SESSION, round=2, body=bytes(1000))
    monkeypatch.setattr(codec, "MAX_MESSAGE_BYTES", len(data) - 1)
    with pytest.raises(MessageError):
        unwrap(SESSION, round=2, data=data)


def test_a_session_names_the_identity_of_every_silo_and_binds_it() -> None:
    assert SESSION.identity("south") == SESSION.identities[1] != SESSION.identity("north")
    assert Session.from_wire(SESSION.to_wire()) == SESSION
    assert replace(SESSION, identities=SESSION.identities[::-1]).digest != SESSION.digest
    for keys in ((), SESSION.identities[:1], (bytes(32), bytes(31))):
        with pytest.raises(DomainError, match="identity keys"):
            replace(SESSION, identities=keys)


def test_no_two_statements_of_a_session_look_alike() -> None:
    statements = [
        ("open", b"ab", b"c"),
        ("open", b"a", b"bc"),
        ("opena", b"bc"),
        ("open", b"abc"),
        ("open", b"abc", b""),
    ]
    assert len({SESSION.bind(label, *parts) for label, *parts in statements}) == len(statements)
    assert SESSION.bind("open", b"x") != replace(SESSION, id=b"\1" * 32).bind("open", b"x")
