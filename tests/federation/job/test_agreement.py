"""What everyone signs before anyone works: one job, one run, one roster, and the commitment to its own nonce."""

import hashlib
from dataclasses import replace

import pytest

from siloseal.federation.errors import SignatureInvalid, WrongContributors
from siloseal.federation.job.agreement import Agreement, statement
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.wire import sums_pb2 as pb

NAMES = ("north", "east", "south")
SILOS = {name: Identity.create(name) for name in NAMES}
AGREED = Agreement(b"r" * 32, b"j" * 32, {name: SILOS[name].public for name in NAMES})
COMMITTED = {name: hashlib.sha256(name.encode()).digest() for name in NAMES}


def pieces(agreement: Agreement = AGREED, **replaced: bytes) -> list[pb.Piece]:
    signed = {name: agreement.sign(me, COMMITTED[name]) for name, me in SILOS.items()} | replaced
    return [pb.Piece(silo=name, data=data) for name, data in signed.items()]


def commitments(**replaced: bytes) -> list[pb.Piece]:
    return [pb.Piece(silo=name, data=data) for name, data in {**COMMITTED, **replaced}.items()]


def test_everyones_signature_of_the_same_is_an_agreement_in_any_order() -> None:
    assert AGREED.check(pieces(), commitments()) == COMMITTED
    assert AGREED.check(pieces()[::-1], commitments()) == COMMITTED


def test_the_order_of_the_roster_does_not_matter() -> None:
    turned = replace(AGREED, roster=dict(reversed(AGREED.roster.items())))
    turned.check(pieces(), commitments())


def test_what_is_signed_is_a_hash_over_run_job_commitment_and_roster() -> None:
    keyed = [part for name in sorted(NAMES) for part in (name.encode(), SILOS[name].public)]
    expected = statement("a silo agrees to a job", b"east", b"r" * 32, b"j" * 32, COMMITTED["east"], *keyed)
    assert AGREED._statement("east", COMMITTED["east"]) == expected


def test_a_check_that_passed_once_lets_nothing_else_pass() -> None:
    """Checks are remembered within one process, by all that they depend on."""
    AGREED.check(pieces(), commitments())
    with pytest.raises(SignatureInvalid):
        AGREED.check(pieces(east=bytes(64)), commitments())
    with pytest.raises(SignatureInvalid):
        replace(AGREED, run_id=b"R" * 32).check(pieces(), commitments())
    with pytest.raises(SignatureInvalid):
        replace(AGREED, roster={**AGREED.roster, "east": Identity.create("east").public}).check(pieces(), commitments())
    with pytest.raises(WrongContributors):
        AGREED.check([*pieces(), pieces()[0]], commitments())
    AGREED.check(pieces(), commitments())["east"] = b"altered"
    assert AGREED.check(pieces(), commitments()) == COMMITTED, "whoever asks has a copy of his own"


@pytest.mark.parametrize(
    "other",
    [
        replace(AGREED, run_id=b"R" * 32),
        replace(AGREED, job_digest=b"J" * 32),
        replace(AGREED, roster={**AGREED.roster, "south": Identity.create("south").public}),
        replace(AGREED, roster={**AGREED.roster, "west": Identity.create("west").public}),
        replace(AGREED, roster={name: AGREED.roster[name] for name in ("north", "east")}),
    ],
    ids=["another run", "another job", "another key", "one more silo", "one silo less"],
)
def test_who_signed_anything_else_has_not_agreed(other: Agreement) -> None:
    with pytest.raises(SignatureInvalid, match="south"):
        AGREED.check(pieces(south=other.sign(SILOS["south"], COMMITTED["south"])), commitments())


@pytest.mark.parametrize("silo", NAMES)
def test_nobody_replaces_the_commitment_that_a_silo_signed(silo: str) -> None:
    """Not even by the commitment that another silo signed."""
    for other in (bytes(32), b"", *(COMMITTED[name] for name in NAMES if name != silo)):
        with pytest.raises(SignatureInvalid, match=rf"\b{silo}\b"):
            AGREED.check(pieces(), commitments(**{silo: other}))


def test_nobody_agrees_for_another() -> None:
    """South's name, and the signature that east gave for itself, or gave for south."""
    theirs = AGREED._statement("south", COMMITTED["south"])
    for signed in (AGREED.sign(SILOS["east"], COMMITTED["south"]), SILOS["east"].sign(theirs)):
        with pytest.raises(SignatureInvalid, match="south"):
            AGREED.check(pieces(south=signed), commitments())


@pytest.mark.parametrize("junk", [b"", b"x", b"\0" * 64, b"\xff" * 64, b"x" * 1000])
def test_what_is_no_signature_is_no_agreement(junk: bytes) -> None:
    with pytest.raises(SignatureInvalid):
        AGREED.check(pieces(north=junk), commitments())


@pytest.mark.parametrize(
    "said",
    [[], pieces()[:2], [*pieces(), pieces()[0]], [*pieces()[:2], pieces()[0]], [*pieces(), pb.Piece(silo="west")]],
    ids=["nobody", "one is missing", "one is there twice", "one is there in another's place", "a stranger"],
)
def test_exactly_the_silos_of_the_roster_must_have_signed(said: list[pb.Piece]) -> None:
    with pytest.raises(WrongContributors, match=r"^agreements"):
        AGREED.check(said, commitments())


@pytest.mark.parametrize("said", [[], commitments()[:2], commitments() + commitments()[:1], commitments(west=b"")])
def test_exactly_the_silos_of_the_roster_must_have_committed(said: list[pb.Piece]) -> None:
    with pytest.raises(WrongContributors, match=r"^commitments"):
        AGREED.check(pieces(), said)
