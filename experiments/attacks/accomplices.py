"""A silo that plays with the aggregator: everything that either of them knows both know, and it says what it likes.

It is the last on the roster. Of four silos with a threshold of three, one may be malicious: 2t - n - 1. It has a real
side, whose memory it reads and rewrites, and signs with its own identity key whatever it says instead.
"""

from dataclasses import replace
from typing import TypeVar

from google.protobuf.message import Message

from siloseal.experiments.attacks.table import ROSTER, VICTIM, CheatersTable
from siloseal.federation.errors import MessageError
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import one_key_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

M = TypeVar("M", bound=Message)

ACCOMPLICE = ROSTER[-1]


def enlist(table: CheatersTable) -> None:
    """From here on the accomplice is one, in every session at this table."""
    table.accomplices = frozenset({ACCOMPLICE})


def memory_of(table: CheatersTable, kind: type[M]) -> M:
    """What the accomplice's side keeps between rounds."""
    return decode(kind, table.silos[ACCOMPLICE].state())


def remember(table: CheatersTable, memory: Message) -> None:
    """Have the accomplice's side go on as if it had kept this."""
    table.silos[ACCOMPLICE].restore(memory.SerializeToString())


def bodies(table: CheatersTable, number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
    """What the silos said in a round, without the session's wrapping."""
    return {silo: unwrap(table.session, round=2 * number + 1, data=reply) for silo, reply in replies.items()}


def saying(table: CheatersTable, number: int, replies: dict[str, bytes], body: bytes) -> dict[str, bytes]:
    """The replies of a round, with this as the accomplice's."""
    return {**replies, ACCOMPLICE: wrap(table.session, round=2 * number + 1, body=body)}


def make_credulous(side: SiloSide) -> None:
    """Take away the side's own counting of silos: an accomplice protects nobody."""
    kept = side.__dict__
    if "_plan" in kept:
        kept["_plan"] = replace(kept["_plan"], threshold=1, fewest=1)
    kept.update({name: 1 for name in ("_fewest", "_threshold") if name in kept})


def read_with_its_key(table: CheatersTable, scheme: OneKeySum) -> list[Vector]:
    """Sums under one key: the accomplice holds the key, and opens the victim's upload without telling any lie."""
    found = list[Vector]()

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number == OneKeyRound.UPLOAD:
            held = memory_of(table, pb.OneKeySiloState).secret_key
            key = scheme.cipher(table.domain, len(ROSTER)).read_key(held)
            found.append(key.decrypt(bodies(table, number, replies)[VICTIM]))
        return replies

    table.drive(table.scheme.aggregator(table.session), carry=carry)
    if not found:
        raise MessageError("the session ended before anybody uploaded")
    return found
