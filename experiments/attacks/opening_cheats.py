"""Cheats about whose contributions are opened. Each scheme opens in its own way, so each has its own lie."""

from dataclasses import replace
from typing import TypedDict

from experiments.attacks.lying_aggregators import CkksOfOne, CkksTwoLists, OneKeyTwoSums, SecAggOfOne, SecAggTwoLists
from experiments.attacks.table import ROSTER, VICTIM, DoesNotApply, Refused, Table
from federation.additive.additive_sum import AdditiveSum
from federation.additive.sides import Round as AdditiveRound
from federation.additive.sides import shared_ring
from federation.ckks.ckks_sum import CkksSum
from federation.ckks.parameters import Parameters
from federation.errors import ProtocolError
from federation.fixed_point import FixedPointSum
from federation.one_key.one_key_sum import OneKeySum
from federation.ring.ring_sum import RingSum
from federation.ring.sides import FIRST
from federation.rounds import pieces
from federation.secagg.secagg_sum import SecAggSum
from federation.secure_sum import AggregatorSide, SecureSum, Sum
from federation.session import Vector
from federation.wire import messages_pb2 as pb
from federation.wire.codec import unwrap, wrap


class _Sizes(TypedDict):
    """What a side of CKKS takes. The aggregator that cheats waits for nobody."""

    parameters: Parameters
    precision_bits: int
    threshold: int


def opens_one(table: Table) -> list[Vector]:
    """Have the victim's contribution opened instead of the sum: all others dropped out, it claims."""
    match scheme := _integers(table.scheme):
        case SecAggSum():
            plan = replace(scheme.plan(table.session), fewest=1, fewest_openers=1)
            return [table.drive(SecAggOfOne(table.session, plan)).total]
        case CkksSum():
            return [table.drive(CkksOfOne(table.session, **_sizes(scheme, table))).total]
        case AdditiveSum():
            return [_lonely_share(table)]
        case RingSum():
            return [_short_ring(table)]
        case _:
            return _sums_of_one(table)


def two_lists(table: Table) -> list[Vector]:
    """Tell half of the silos that the victim contributed, and the other half that it did not.

    Where a threshold of silos opens, both ways at once would take one of at most half the silos, which no session
    allows: there it would stay without harm even if the silos did not compare what they were told, but they do. Where
    each silo holds the whole key, the two sums differ by the victim's vector.
    """
    match scheme := _integers(table.scheme):
        case SecAggSum():
            return [table.drive(SecAggTwoLists(table.session, scheme.plan(table.session))).total]
        case CkksSum():
            return [table.drive(CkksTwoLists(table.session, **_sizes(scheme, table))).total]
        case OneKeySum():
            table.drive(side := OneKeyTwoSums(table.session, scheme.cipher(table.domain, len(ROSTER))))
            return [table.difference(*side.told)]
        case _:
            raise DoesNotApply("no silo is told who is in the sum")


def _lonely_share(table: Table) -> Vector:
    """Additive sharing: the victim hears that nobody else is there, so that it would share its vector with nobody."""
    session = table.session
    said = table.ask({VICTIM: wrap(session, round=2 * AdditiveRound.ADVERTISE, body=b"")})[VICTIM]
    alone = pieces({VICTIM: unwrap(session, round=2 * AdditiveRound.ADVERTISE + 1, data=said)})
    table.ask({VICTIM: wrap(session, round=2 * AdditiveRound.SHARE, body=alone)})
    added = table.ask({VICTIM: wrap(session, round=2 * AdditiveRound.ADD, body=pieces({}))})[VICTIM]
    ring = shared_ring(session.domain, len(ROSTER))
    return ring.values(ring.unpack(unwrap(session, round=2 * AdditiveRound.ADD + 1, data=added)))


def _short_ring(table: Table) -> Vector:
    """The ring: what its first silo passes on, its vector under its mask, comes straight back as the total of all."""
    session, side = table.session, table.scheme.aggregator(table.session)
    step = side.advance(table.ask(side.open()))
    if isinstance(step, Sum):
        raise DoesNotApply("the sum was there before anyone had passed it on")
    passed = unwrap(session, round=2 * FIRST + 1, data=table.ask(step)[VICTIM])
    last = 2 * (FIRST + len(ROSTER))
    turn = pb.RingTurn(total=passed).SerializeToString()
    opened = table.ask({VICTIM: wrap(session, round=last, body=turn)})[VICTIM]
    ring = shared_ring(session.domain, len(ROSTER))
    return ring.values(ring.unpack(unwrap(session, round=last + 1, data=opened)))


def _sums_of_one(table: Table) -> list[Vector]:
    """Any other scheme: leave the others out from each round on, in a session each, and keep to no quorum."""
    found, refusals, number = list[Vector](), list[Refused](), 0
    while True:
        table.meet()
        side = table.scheme.aggregator(table.forged(quorum=1))
        side.__dict__["_needed"] = lambda number: 1  # what an honest one would wait for
        try:
            if (total := _left_out(table, side, number)) is None:
                break
            found.append(total.total)
        except Refused as refusal:
            refusals.append(refusal)
        except ProtocolError:
            pass  # the aggregator itself cannot go on from there: it tries a later round
        number += 1
    if refusals and not found:
        raise refusals[-1]
    return found


def _left_out(table: Table, side: AggregatorSide, number: int) -> Sum | None:
    """The sum of the victim alone from this round on; None if the sum was there before."""
    replies = table.ask(side.open())
    for _ in range(number):
        step = side.advance(replies)
        if isinstance(step, Sum):
            return None
        replies = table.ask(step)
    return table.drive(side, side.advance({VICTIM: replies[VICTIM]} if VICTIM in replies else replies))


def _integers(scheme: SecureSum) -> SecureSum:
    """What carries the integers."""
    return scheme.integers if isinstance(scheme, FixedPointSum) else scheme


def _sizes(scheme: CkksSum, table: Table) -> _Sizes:
    parameters = scheme.parameters(table.domain, len(ROSTER))
    return _Sizes(parameters=parameters, precision_bits=scheme.precision_bits, threshold=1)
