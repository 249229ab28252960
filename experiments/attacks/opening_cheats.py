"""Cheats about whose contributions are opened. Each scheme opens in its own way, so each has its own lie."""

from collections.abc import Iterator
from functools import partial
from typing import TypedDict

from siloseal.experiments.attacks.attacked_sum import ROSTER, VICTIM, AttackedSum, Carry, DoesNotApply, NotTaught, Way
from siloseal.experiments.attacks.lying_aggregators import (
    AdditiveTwoLists,
    CkksMixedLists,
    CkksOfOne,
    CkksTwoLists,
    JointKeyOfOne,
    JointKeyTwoLists,
    OneKeyTwoLists,
    RingTwoLists,
    SecAggMixedLists,
    SecAggOfOne,
    SecAggTwoLists,
    TwoLists,
    unchecked,
)
from siloseal.federation.sums.additive.additive_sum import AdditiveSum
from siloseal.federation.sums.additive.sides import Round as AdditiveRound
from siloseal.federation.sums.additive.sides import shared_ring
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.ring.sides import FIRST
from siloseal.federation.sums.rounds import pieces
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import ring_pb2 as pb


class _Sizes(TypedDict):
    """Arguments of an aggregator's side of the joint-key sum."""

    parameters: Parameters
    precision_bits: int
    threshold: int


def opens_one(attacked: AttackedSum) -> Iterator[Way]:
    """Have the victim's contribution opened instead of the sum: all others dropped out, it claims."""
    session = attacked.session
    match scheme := attacked.integers:
        case SecAggSum():
            yield lambda: [attacked.drive(unchecked(SecAggOfOne(session, scheme.plan(session)))).total]
        case CkksSum():
            yield lambda: [attacked.drive(unchecked(CkksOfOne(scheme.setting(session)))).total]
        case JointKeySum():
            yield lambda: [attacked.drive(unchecked(JointKeyOfOne(session, **_sizes(scheme, attacked)))).total]
        case AdditiveSum():
            yield lambda: [_lonely_share(attacked)]
        case RingSum():
            yield lambda: [_short_ring(attacked)]
        case _:
            for number in range(len(attacked.record()[0])):
                attacked.meet()
                yield partial(_left_out, attacked, number)


def two_lists(attacked: AttackedSum) -> Iterator[Way]:
    """Tell half of the silos that the victim is there, and the other half that it is not.

    Two sums come of it, and their difference, where half of the silos can open one: under a key that each silo holds,
    or with a threshold that no session allows. Where a threshold opens, silos count who signed the same list, and
    compare lists. Additive sharing counts, and would keep the vector if it did not: masks between silos that were told
    different things do not cancel. In the ring a silo knows who stands beside it.
    """
    if isinstance(attacked.integers, RingSum):
        yield lambda: [attacked.drive(unchecked(RingTwoLists(attacked.session))).total]
        return
    side = forked(attacked)
    yield lambda: two_sums(attacked, side)
    attacked.meet()
    match scheme := attacked.integers:
        case SecAggSum():
            yield lambda: two_sums(attacked, SecAggMixedLists(attacked.session, scheme.plan(attacked.session)))
        case CkksSum():
            yield lambda: two_sums(attacked, CkksMixedLists(scheme.setting(attacked.session)))
        case _:
            pass


def forked(attacked: AttackedSum) -> TwoLists:
    """Return an aggregator's side that tells two lists."""
    session = attacked.session
    match scheme := attacked.integers:
        case SecAggSum():
            return SecAggTwoLists(session, scheme.plan(session))
        case CkksSum():
            return CkksTwoLists(scheme.setting(session))
        case JointKeySum():
            return JointKeyTwoLists(session, **_sizes(scheme, attacked))
        case OneKeySum():
            return OneKeyTwoLists(session, scheme.cipher(attacked.domain, len(ROSTER)))
        case AdditiveSum():
            return AdditiveTwoLists(session)
        case PlainSum():
            raise DoesNotApply("a silo is asked for its vector, and told nothing")
        case _:
            raise NotTaught(scheme, "opening_cheats.forked")


def two_sums(attacked: AttackedSum, side: TwoLists, carry: Carry | None = None) -> list[Vector]:
    """Return the first sum, and the difference if both come out."""
    total = attacked.drive(unchecked(side), carry=carry).total
    return [total, *([attacked.difference(*side.totals)] if len(side.totals) == 2 else [])]


def _lonely_share(attacked: AttackedSum) -> Vector:
    """Tell the victim, in additive sharing, that nobody else is there, so that it would share with nobody."""
    session = attacked.session
    said = attacked.ask({VICTIM: wrap(session, round=2 * AdditiveRound.ADVERTISE, body=b"")})[VICTIM]
    alone = pieces({VICTIM: unwrap(session, round=2 * AdditiveRound.ADVERTISE + 1, data=said)})
    attacked.ask({VICTIM: wrap(session, round=2 * AdditiveRound.SHARE, body=alone)})
    added = attacked.ask({VICTIM: wrap(session, round=2 * AdditiveRound.ADD, body=pieces({}))})[VICTIM]
    ring = shared_ring(session.domain, len(ROSTER))
    return ring.values(ring.unpack(unwrap(session, round=2 * AdditiveRound.ADD + 1, data=added)))


def _short_ring(attacked: AttackedSum) -> Vector:
    """Return to the first silo of the ring its own masked vector, as if it were the total of all."""
    session, side = attacked.session, attacked.scheme.aggregator(attacked.session)
    step = side.advance(attacked.ask(side.open()))
    if isinstance(step, Sum):
        raise DoesNotApply("the sum was there before anyone had passed it on")
    passed = unwrap(session, round=2 * FIRST + 1, data=attacked.ask(step)[VICTIM])
    last = 2 * (FIRST + len(ROSTER))
    turn = pb.RingTurn(total=passed).SerializeToString()
    opened = attacked.ask({VICTIM: wrap(session, round=last, body=turn)})[VICTIM]
    ring = shared_ring(session.domain, len(ROSTER))
    return ring.values(ring.unpack(unwrap(session, round=last + 1, data=opened)))


def _left_out(attacked: AttackedSum, number: int) -> list[Vector]:
    """Sum the victim's vector alone from this round on, without any quorum, in any other scheme."""
    side = unchecked(attacked.scheme.aggregator(attacked.forged(quorum=1)))
    replies = attacked.ask(side.open())
    for _ in range(number):
        step = side.advance(replies)
        if isinstance(step, Sum):
            raise DoesNotApply("the sum was there before the round from which on the others are left out")
        replies = attacked.ask(step)
    return [attacked.drive(side, side.advance({VICTIM: replies[VICTIM]} if VICTIM in replies else replies)).total]


def _sizes(scheme: JointKeySum, attacked: AttackedSum) -> _Sizes:
    silos = len(ROSTER)
    parameters, threshold = scheme.parameters(attacked.domain, silos), scheme.fewest(silos)
    return _Sizes(parameters=parameters, precision_bits=scheme.precision_bits, threshold=threshold)
