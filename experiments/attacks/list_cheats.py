"""The cheat of an aggregator that tells two lists, together with a silo that is on both sides.

Two sums need 2t answers, and an honest silo gives one: an aggregator with 2t - n - 1 accomplices or fewer gets one sum.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from siloseal.experiments.attacks.accomplices import enlist, make_credulous, read_with_its_key
from siloseal.experiments.attacks.attacked_sum import OTHERS, AttackedSum, Way
from siloseal.experiments.attacks.lying_aggregators import RingTwoLists, TwoLists, unchecked
from siloseal.experiments.attacks.opening_cheats import forked, two_sums
from siloseal.federation.sums.one_key.one_key_sum import OneKeySum
from siloseal.federation.sums.ring.ring_sum import RingSum
from siloseal.federation.sums.session import Vector

AGAIN = "{} again"
"""Pattern of the name under which an accomplice answers the second half."""


def two_lists_with_a_silo(attacked: AttackedSum) -> Iterator[Way]:
    """Tell some silos that the victim is there, and others that it is not; the accomplice answers, and signs, both.

    The victim is told the truth together with one other silo, or alone.
    """
    enlist(attacked)
    honest = [silo for silo in OTHERS if silo not in attacked.accomplices]
    match scheme := attacked.integers:
        case RingSum():
            yield lambda: _in_the_ring(attacked, honest[-1:])
            return
        case OneKeySum():
            yield lambda: read_with_its_key(attacked, scheme)
            attacked.meet()
    for deceived in (honest[1:], honest):
        if deceived:
            yield partial(_on_both_sides, attacked, forked(attacked), deceived)
            attacked.meet()


def _on_both_sides(attacked: AttackedSum, side: TwoLists, deceived: Sequence[str]) -> list[Vector]:
    enlisted = attacked.accomplices
    side.deceived, side.twins = deceived, {silo: AGAIN.format(silo) for silo in enlisted}
    attacked.accomplices = enlisted | set(side.twins.values())

    def carry(number: int, replies: dict[str, bytes]) -> dict[str, bytes]:
        if number == side.fork:
            for silo, again in side.twins.items():
                _fork(attacked, silo, again)
        return replies

    try:
        return two_sums(attacked, side, carry)
    finally:
        attacked.accomplices = enlisted


def _fork(attacked: AttackedSum, silo: str, again: str) -> None:
    """Add a second side of one silo, with the same memory up to here."""
    second = attacked.silo(attacked.session, attacked.identities[silo], attacked.vectors[silo])
    second.restore(attacked.silos[silo].state())
    attacked.silos[again] = second
    for side in (attacked.silos[silo], second):
        make_credulous(side)


def _in_the_ring(attacked: AttackedSum, deceived: Sequence[str]) -> list[Vector]:
    """Tell two lists in the ring: the victim's neighbour would notice, were it not the accomplice."""
    side = unchecked(RingTwoLists(attacked.session))
    side.deceived = deceived
    return [attacked.drive(side).total]
