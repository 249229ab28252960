"""Sessions: what the digest binds, and which sessions are refused."""

from dataclasses import replace

import pytest

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.session import (
    IntegerDomain,
    RealDomain,
    Session,
    require_integers,
    require_real,
)
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode

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


def test_a_domain_of_the_other_kind_is_refused_by_its_name() -> None:
    reals, integers = RealDomain(3, 1.0), IntegerDomain(3, 2**20)
    assert require_real(reals) is reals
    assert require_integers(integers, 2) is integers
    with pytest.raises(DomainError, match="IntegerDomain"):
        require_real(integers)
    with pytest.raises(DomainError, match="RealDomain") as refused:
        require_integers(reals, 2)
    assert "mask" not in str(refused.value), "ciphers that mask nothing refuse reals too"


def test_no_silo_has_its_shares_at_the_secrets_own_point() -> None:
    assert [SESSION.share_point(silo) for silo in SESSION.roster] == [1, 2]
