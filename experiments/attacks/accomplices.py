"""A silo that plays with the aggregator: everything that either of them knows both know, and it says what it likes.

It is the last on the roster. Of four silos with a threshold of three, one may be malicious (`may_pool` in
`federation.sums.threshold`). It has a real side, whose memory it reads and rewrites, and signs with its own identity
key whatever it says instead.
"""

from dataclasses import replace
from typing import TypeVar

from google.protobuf.message import Message

from siloseal.experiments.attacks.attacked_sum import ROSTER, VICTIM, AttackedSum
from siloseal.federation.errors import MessageError
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.secure_sum import SiloSide
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import one_key_pb2 as pb
from siloseal.federation.transport.wire.codec import decode

M = TypeVar("M", bound=Message)

ACCOMPLICE = ROSTER[-1]


def enlist(attacked: AttackedSum) -> None:
    """Have the accomplice play with the aggregator, in every session from here on."""
    attacked.accomplices = frozenset({ACCOMPLICE})


def memory_of(attacked: AttackedSum, kind: type[M]) -> M:
    """Return what the accomplice's side keeps between rounds."""
    return decode(kind, attacked.silos[ACCOMPLICE].state())


def remember(attacked: AttackedSum, memory: Message) -> None:
    """Have the accomplice's side go on as if it had kept this."""
    attacked.silos[ACCOMPLICE].restore(memory.SerializeToString())


def bodies(attacked: AttackedSum, number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
    """Return what the silos said in a round, without the session's wrapping."""
    return {silo: unwrap(attacked.session, round=2 * number + 1, data=reply) for silo, reply in replies.items()}


def saying(attacked: AttackedSum, number: int, replies: dict[str, bytes], body: bytes) -> dict[str, bytes]:
    """Return the replies of a round, with this as the accomplice's."""
    return {**replies, ACCOMPLICE: wrap(attacked.session, round=2 * number + 1, body=body)}


def make_credulous(side: SiloSide) -> None:
    """Take away the side's own counting of silos: an accomplice protects nobody."""
    kept = side.__dict__
    if "_plan" in kept:
        kept["_plan"] = replace(kept["_plan"], threshold=1, fewest=1)
    kept.update({name: 1 for name in ("_fewest", "_threshold") if name in kept})


def read_with_its_key(attacked: AttackedSum, scheme: OneKeySum) -> list[Vector]:
    """Open the victim's upload in a sum under one key: the accomplice holds the key, and need not lie."""
    found = list[Vector]()

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number == OneKeyRound.UPLOAD:
            held = memory_of(attacked, pb.OneKeySiloState).secret_key
            key = scheme.cipher(attacked.domain, len(ROSTER)).read_key(held)
            found.append(key.decrypt(bodies(attacked, number, replies)[VICTIM]))
        return replies

    attacked.drive(attacked.scheme.aggregator(attacked.session), carry=carry)
    if not found:
        raise MessageError("the session ended before anybody uploaded")
    return found
