"""What carries messages and changes one of them, and the check that a silo refuses the change itself."""

from collections.abc import Callable
from typing import Any

import pytest

from siloseal.federation.errors import ProtocolError, WrongRound
from siloseal.federation.sums.joint_key.statements import OPEN
from siloseal.federation.transport.wire import sums_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

Table = Any  # of conftest.py
TableOf = Callable[..., Any]
Change = Callable[[Any], None]

FULL = range(7)


def lie(table: Table, round: int, victim: str, change: Change, kind: type = pb.Pieces) -> Callable[..., bytes]:
    """Carries messages, but changes the one to `victim` in this round."""

    def carry(number: int, silo: str, message: bytes) -> bytes:
        if (number, silo) != (round, victim):
            return message
        body = decode(kind, unwrap(table.session, round=2 * round, data=message))
        change(body)
        return wrap(table.session, round=2 * round, body=body.SerializeToString())

    return carry


def piece_of(pieces: pb.Pieces, silo: str) -> pb.Piece:
    return next(piece for piece in pieces.pieces if piece.silo == silo)


def refused(table: Table, error: type[ProtocolError], round: int, change: Change, kind: type = pb.Pieces) -> None:
    """`east` itself refuses the changed message, and answers nothing more in the session."""
    silent = {"north": OPEN} if round > OPEN else {}
    right = table.run(rounds=round, silent=silent)["east"]
    wrong = lie(table, round, "east", change, kind)(round, "east", right)
    assert wrong != right
    with pytest.raises(error):
        table.silos["east"].answer(wrong)
    with pytest.raises(WrongRound):
        table.silos["east"].answer(right)


def altered(kind: type, field: str, at: int = 5) -> Change:
    """Flips one bit in a field of what `north` is said to have said."""

    def change(pieces: pb.Pieces) -> None:
        piece = piece_of(pieces, "north")
        said = decode(kind, piece.data)
        holder, name = (said.share, field.removeprefix("share.")) if field.startswith("share.") else (said, field)
        value = bytearray(getattr(holder, name))
        value[at] ^= 1
        setattr(holder, name, bytes(value))
        piece.data = said.SerializeToString()

    return change


def doubled(pieces: pb.Pieces) -> None:
    pieces.pieces.append(piece_of(pieces, "north"))


def without(*silos: str) -> Change:
    def change(pieces: pb.Pieces) -> None:
        kept = [piece for piece in pieces.pieces if piece.silo not in silos]
        del pieces.pieces[:]
        pieces.pieces.extend(kept)

    return change


def renamed(pieces: pb.Pieces) -> None:
    piece_of(pieces, "north").silo = "mallory"


def swapped(pieces: pb.Pieces) -> None:
    north, west = piece_of(pieces, "north"), piece_of(pieces, "west")
    north.data, west.data = west.data, north.data
