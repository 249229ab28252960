"""What carries messages and changes one of them, and the check that a silo refuses the change itself."""

from collections.abc import Callable
from typing import Any

import pytest

from siloseal.federation.errors import ProtocolError, WrongRound
from siloseal.federation.sums.envelope import unwrap
from siloseal.federation.sums.in_process import Hook
from siloseal.federation.sums.joint_key.statements import Round
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties

Change = Callable[[Any], None]


def lie(round: int, victim: str, change: Change, kind: type = sums_pb2.Pieces) -> Hook:
    """Changes what `victim` is told in this round."""

    def tell(number: int, silo: str, body: bytes) -> bytes:
        return changed(body, change, kind) if (number, silo) == (round, victim) else body

    return tell


def changed(body: bytes, change: Change, kind: type = sums_pb2.Pieces) -> bytes:
    message = decode(kind, body)
    change(message)
    return bytes(message.SerializeToString())


def piece_of(pieces: sums_pb2.Pieces, silo: str) -> sums_pb2.Piece:
    return next(piece for piece in pieces.pieces if piece.silo == silo)


def refused(
    parties: Parties, error: type[ProtocolError], round: int, change: Change, kind: type = sums_pb2.Pieces
) -> None:
    """`east` itself refuses the changed message, and answers nothing more in the session."""
    silent = {"north": Round.OPEN} if round > Round.OPEN else {}
    asked = parties.run_until(round, silent=silent)["east"]
    right = unwrap(parties.session, round=2 * round, data=asked)
    assert changed(right, change, kind) != right
    with pytest.raises(error):
        parties.tell(round, "east", changed(right, change, kind))
    with pytest.raises(WrongRound):
        parties.tell(round, "east", right)


def altered(kind: type, field: str, at: int = 5) -> Change:
    """Flips one bit in a field of what `north` is said to have said."""

    def change(pieces: sums_pb2.Pieces) -> None:
        piece = piece_of(pieces, "north")
        said = decode(kind, piece.data)
        holder, name = (said.share, field.removeprefix("share.")) if field.startswith("share.") else (said, field)
        value = bytearray(getattr(holder, name))
        value[at] ^= 1
        setattr(holder, name, bytes(value))
        piece.data = said.SerializeToString()

    return change


def doubled(pieces: sums_pb2.Pieces) -> None:
    pieces.pieces.append(piece_of(pieces, "north"))


def without(*silos: str) -> Change:
    def change(pieces: sums_pb2.Pieces) -> None:
        kept = [piece for piece in pieces.pieces if piece.silo not in silos]
        del pieces.pieces[:]
        pieces.pieces.extend(kept)

    return change


def renamed(pieces: sums_pb2.Pieces) -> None:
    piece_of(pieces, "north").silo = "mallory"


def swapped(pieces: sums_pb2.Pieces) -> None:
    north, west = piece_of(pieces, "north"), piece_of(pieces, "west")
    north.data, west.data = west.data, north.data
