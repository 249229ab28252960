"""The cheat of an accomplice whose own part of the session's keys is malformed."""

from collections.abc import Iterator
from functools import partial

from siloseal.experiments.attacks import joint_key_cheats
from siloseal.experiments.attacks.accomplices import (
    ACCOMPLICE,
    bodies,
    enlist,
    memory_of,
    read_with_its_key,
    remember,
    saying,
)
from siloseal.experiments.attacks.attacked_sum import ROSTER, AttackedSum, DoesNotApply, Way
from siloseal.experiments.attacks.joint_key_cheats import JointKeyOfUs
from siloseal.experiments.attacks.lying_aggregators import unchecked
from siloseal.experiments.attacks.upload_cheats import LONG_KEY, format_of, uploads_instead
from siloseal.experiments.attacks.upload_formats import JointKeyFormat
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.joint_key import statements
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import masked_pb2, one_key_pb2
from siloseal.federation.transport.wire.codec import decode

LOW_ORDER = bytes(32)
"""A point of low order: whatever the other's X25519 key, the shared secret is the same, and known to everyone."""


def malformed_key(attacked: AttackedSum) -> Iterator[Way]:
    """Take part with a key, or a share of one, that is not what it should be.

    Keys that silos agree on masks and seals with: a point of low order. The joint public key: a share with a large
    constant on top, so that the sum of all one-time polynomials u comes out. The key-additive sum: a share that is not
    short. A sum under one key: the accomplice leads, and hands the key out to the aggregator as well.
    """
    enlist(attacked)
    match scheme := attacked.integers:
        case PlainSum():
            raise DoesNotApply("there is no key")
        case JointKeySum():
            yield lambda: _joint_key_share(attacked, scheme)
            return
        case CkksSum():
            yield from uploads_instead(attacked, LONG_KEY)
        case OneKeySum():
            attacked.meet(roster=(ACCOMPLICE, *(silo for silo in ROSTER if silo != ACCOMPLICE)))
            yield lambda: read_with_its_key(attacked, scheme)
            attacked.meet()
        case _:
            pass
    for place in range(2 if isinstance(scheme, SecAggSum | CkksSum) else 1):
        yield partial(_low_order, attacked, place)
        attacked.meet()


def _joint_key_share(attacked: AttackedSum, scheme: JointKeySum) -> list[Vector]:
    form = format_of(attacked, scheme)

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number == statements.Round.COMMIT_KEY and isinstance(form, JointKeyFormat):
            return joint_key_cheats.malform_key_share(attacked, form, replies)
        return replies

    side = joint_key_cheats.reading(JointKeyOfUs, attacked, scheme)
    return [attacked.drive(unchecked(side), carry=carry).total]


def _low_order(attacked: AttackedSum, place: int) -> list[Vector]:
    """Advertise a point of low order in the first round; the accomplice's side believes that it said so."""

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number != Round.ADVERTISE:
            return replies
        keys = list(decode(masked_pb2.Advertisement, bodies(attacked, number, replies)[ACCOMPLICE]).keys)
        keys[place] = LOW_ORDER
        said = advertise(attacked.session, attacked.identities[ACCOMPLICE], keys)
        _believe(attacked, said)
        return saying(attacked, number, replies, said)

    return [attacked.drive(unchecked(attacked.scheme.aggregator(attacked.session)), carry=carry).total]


def _believe(attacked: AttackedSum, said: bytes) -> None:
    if isinstance(attacked.integers, OneKeySum):
        alone = memory_of(attacked, one_key_pb2.OneKeySiloState)
        alone.advertisement = said
        remember(attacked, alone)
    else:
        memory = memory_of(attacked, masked_pb2.MaskedSiloState)
        memory.advertised[0].data = said
        remember(attacked, memory)
