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
from siloseal.experiments.attacks.joint_key_cheats import JointKeyOfUs
from siloseal.experiments.attacks.lying_aggregators import unchecked
from siloseal.experiments.attacks.table import ROSTER, CheatersTable, DoesNotApply, Way
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


def malformed_key(table: CheatersTable) -> Iterator[Way]:
    """Take part with a key, or a share of one, that is not what it should be.

    Keys that silos agree on masks and seals with: a point of low order. The joint public key: a share with a large
    constant on top, so that the sum of all one-time polynomials u comes out. The key-additive sum: a share that is not
    short. A sum under one key: the accomplice leads, and hands the key out to the aggregator as well.
    """
    enlist(table)
    match scheme := table.integers:
        case PlainSum():
            raise DoesNotApply("there is no key")
        case JointKeySum():
            yield lambda: _joint_key_share(table, scheme)
            return
        case CkksSum():
            yield from uploads_instead(table, LONG_KEY)
        case OneKeySum():
            table.meet(roster=(ACCOMPLICE, *(silo for silo in ROSTER if silo != ACCOMPLICE)))
            yield lambda: read_with_its_key(table, scheme)
            table.meet()
        case _:
            pass
    for place in range(2 if isinstance(scheme, SecAggSum | CkksSum) else 1):
        yield partial(_low_order, table, place)
        table.meet()


def _joint_key_share(table: CheatersTable, scheme: JointKeySum) -> list[Vector]:
    form = format_of(table, scheme)

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number == statements.COMMIT_KEY and isinstance(form, JointKeyFormat):
            return joint_key_cheats.malform_key_share(table, form, replies)
        return replies

    side = joint_key_cheats.reading(JointKeyOfUs, table, scheme)
    return [table.drive(unchecked(side), carry=carry).total]


def _low_order(table: CheatersTable, place: int) -> list[Vector]:
    """One of the keys that are advertised in the first round; the accomplice's side believes that it said so."""

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number != Round.ADVERTISE:
            return replies
        keys = list(decode(masked_pb2.Advertisement, bodies(table, number, replies)[ACCOMPLICE]).keys)
        keys[place] = LOW_ORDER
        said = advertise(table.session, table.identities[ACCOMPLICE], keys)
        _believe(table, said)
        return saying(table, number, replies, said)

    return [table.drive(unchecked(table.scheme.aggregator(table.session)), carry=carry).total]


def _believe(table: CheatersTable, said: bytes) -> None:
    if isinstance(table.integers, OneKeySum):
        alone = memory_of(table, one_key_pb2.OneKeySiloState)
        alone.advertisement = said
        remember(table, alone)
    else:
        memory = memory_of(table, masked_pb2.MaskedSiloState)
        memory.advertised[0].data = said
        remember(table, memory)
