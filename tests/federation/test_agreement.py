"""What everyone signs before anyone works: one job, one run, one roster."""

from dataclasses import replace

import pytest

from federation.agreement import Agreement
from federation.errors import SignatureInvalid, WrongContributors
from federation.identity import Identity
from federation.wire import messages_pb2 as pb

NAMES = ("north", "east", "south")
SILOS = {name: Identity.create(name) for name in NAMES}
AGREED = Agreement(b"r" * 32, b"j" * 32, {name: SILOS[name].public for name in NAMES})


def pieces(agreement: Agreement = AGREED, **replaced: bytes) -> list[pb.Piece]:
    return [pb.Piece(silo=name, data=replaced.get(name, agreement.sign(me))) for name, me in SILOS.items()]


def test_everyones_signature_of_the_same_is_an_agreement_in_any_order() -> None:
    AGREED.check(pieces())
    AGREED.check(pieces()[::-1])


def test_the_order_of_the_roster_does_not_matter() -> None:
    turned = replace(AGREED, roster=dict(reversed(AGREED.roster.items())))
    turned.check(pieces())


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
        AGREED.check(pieces(south=other.sign(SILOS["south"])))


def test_nobody_agrees_for_another() -> None:
    """South's name, and the signature that east gave for itself, or gave for south."""
    for signed in (AGREED.sign(SILOS["east"]), SILOS["east"].sign(AGREED._statement("south"))):
        with pytest.raises(SignatureInvalid, match="came as south's"):
            AGREED.check(pieces(south=signed))


@pytest.mark.parametrize("junk", [b"", b"x", b"\0" * 64, b"\xff" * 64, b"x" * 1000])
def test_what_is_no_signature_is_no_agreement(junk: bytes) -> None:
    with pytest.raises(SignatureInvalid):
        AGREED.check(pieces(north=junk))


@pytest.mark.parametrize(
    "said",
    [[], pieces()[:2], [*pieces(), pieces()[0]], [*pieces()[:2], pieces()[0]], [*pieces(), pb.Piece(silo="west")]],
    ids=["nobody", "one is missing", "one is there twice", "one is there in another's place", "a stranger"],
)
def test_exactly_the_silos_of_the_roster_must_have_signed(said: list[pb.Piece]) -> None:
    with pytest.raises(WrongContributors, match="expected one of each of north, east, south"):
        AGREED.check(said)
