"""Aggregators' real sides, each with one lie about whose contributions are to be opened."""

import copy
from collections.abc import Mapping, Sequence
from typing import TypeVar

from siloseal.experiments.attacks.attacked_sum import OTHERS, VICTIM, Messages
from siloseal.federation.errors import ProtocolError, QuorumLost
from siloseal.federation.sums.additive.sides import AdditiveAggregator
from siloseal.federation.sums.additive.sides import Round as AdditiveRound
from siloseal.federation.sums.ckks.aggregator_side import CkksAggregator
from siloseal.federation.sums.joint_key import statements
from siloseal.federation.sums.joint_key.aggregator_side import JointKeyAggregator
from siloseal.federation.sums.one_key.aggregator_side import OneKeyAggregator
from siloseal.federation.sums.one_key.statements import Round as OneKeyRound
from siloseal.federation.sums.ring.sides import RingAggregator
from siloseal.federation.sums.rounds import AggregatorRounds, Bodies, pieces
from siloseal.federation.sums.secagg.aggregator_side import SecAggAggregator
from siloseal.federation.sums.secagg.plan import Round as SecAggRound
from siloseal.federation.sums.secure_sum import AggregatorSide, Sum
from siloseal.federation.sums.session import Vector
from siloseal.federation.transport.wire import joint_key_pb2, ring_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

A = TypeVar("A", bound=AggregatorSide)

DECEIVED = OTHERS[1:]
"""Half of the silos, who are told the lie."""


def unchecked(side: A) -> A:
    """Return the side without the quorum that an honest aggregator keeps to: any reply is enough to go on."""
    side.__dict__["_needed"] = lambda number: 1
    return side


class SecAggOfOne(SecAggAggregator):
    """A side that says that only the victim uploaded. The others hold shares of its seed, and are asked for them."""

    def _uploads(self, replies: Bodies) -> Messages:
        super()._uploads({VICTIM: replies[VICTIM]})
        return self._ask(SecAggRound.CONFIRM, dict.fromkeys(replies, self._bits))

    def _shares(self, holder: str, body: bytes) -> dict[str, bytes]:
        """Return a holder's shares. A silo that is told that it dropped out has no share of its own key."""
        revealed = {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, body).pieces}
        return {silo: share for silo, share in revealed.items() if silo != holder or silo == VICTIM}


class CkksOfOne(SecAggOfOne, CkksAggregator):
    """The lie of `SecAggOfOne` over key shares: what opens is the victim's ciphertext alone."""


class JointKeyOfOne(JointKeyAggregator):
    """A side that hands out the victim's ciphertext as the sum, to everyone."""

    def _uploads(self, number: int, replies: Bodies) -> Messages:
        super()._uploads(number, {VICTIM: replies[VICTIM]})
        half = decode(joint_key_pb2.CiphertextUpload, self._body(number, replies[VICTIM])).c1
        return self._ask(number + 1, dict.fromkeys(replies, pieces({VICTIM: half})))


class TwoLists(AggregatorRounds):
    """Two sums at once from the fork on: half of the silos hear that the victim is not there, and open theirs."""

    fork: int
    """Number of the round whose replies say who is there."""
    deceived: Sequence[str] = DECEIVED
    """Silos that hear that the victim is not there."""
    twins: Mapping[str, str] = {}
    """Accomplices, who hear both lists, with the name under which each answers the second half."""
    totals: Sequence[Vector] = ()
    """Totals of both sums, if both come out."""
    _sums: Sequence[Sum] = ()

    def _advance(self, number: int, replies: Bodies) -> Messages | Sum:
        if number < self.fork:
            return super()._advance(number, replies)  # type: ignore[safe-super]  # a scheme's side comes after this one
        if number == self.fork:
            self._other = copy.deepcopy(self)
        steps, failed = list[Messages | Sum](), list[ProtocolError]()
        for side, part in zip((self, self._other), self._parts(number, replies), strict=True):
            try:
                step = super(TwoLists, side)._advance(number, part) if part else {}  # type: ignore[safe-super]
            except ProtocolError as error:  # this half is over; the other may go on
                failed.append(error)
                step = {}
            steps.append(step)
        return self._both(number + 1, steps, failed)

    def _parts(self, number: int, replies: Bodies) -> tuple[Bodies, Bodies]:
        """Return the replies that go into each of the sums. A half that says nothing any more is out."""
        if number == self.fork:
            return replies, _only(OTHERS, replies)
        second = {name: replies[twin] for name, twin in self.twins.items() if twin in replies}
        first = set(replies) - set(self.deceived) - set(self.twins.values())
        return _only(first, replies), {**_only(self.deceived, replies), **second}

    def _both(self, number: int, steps: Sequence[Messages | Sum], failed: Sequence[ProtocolError]) -> Messages | Sum:
        self._sums = [*self._sums, *(step for step in steps if isinstance(step, Sum))]
        first, second = ({} if isinstance(step, Sum) else step for step in steps)
        asked = {**_only(set(first) - set(self.deceived), first), **_only(self.deceived, second)}
        asked |= {twin: second[name] for name, twin in self.twins.items() if name in second}
        if asked:
            self._round, self._asked = number, tuple(sorted(asked))
            return asked
        if not self._sums:
            raise failed[0] if failed else QuorumLost("neither half of the silos goes on")
        self.totals = [each.total for each in self._sums]
        return self._sums[0]


class AdditiveTwoLists(TwoLists, AdditiveAggregator):
    """Half of the silos hear no key of the victim's."""

    fork = AdditiveRound.ADVERTISE


class SecAggTwoLists(TwoLists, SecAggAggregator):
    """Half of the silos hear that the victim did not upload. Each half gets its own signatures."""

    fork = SecAggRound.UPLOAD


class SecAggMixedLists(SecAggTwoLists):
    """Each half gets the signatures of the other as well, as if they were on its list."""

    def _parts(self, number: int, replies: Bodies) -> tuple[Bodies, Bodies]:
        mixed = number == SecAggRound.CONFIRM
        return (replies, _only(OTHERS, replies)) if mixed else super()._parts(number, replies)


class CkksTwoLists(SecAggTwoLists, CkksAggregator):
    """The same, over key shares."""


class CkksMixedLists(SecAggMixedLists, CkksAggregator):
    """The same, over key shares."""


class JointKeyTwoLists(TwoLists, JointKeyAggregator):
    """Half of the silos open a sum without the victim. To each half, the other is said to be silent."""

    fork = statements.Round.UPLOAD


class OneKeyTwoLists(TwoLists, OneKeyAggregator):
    """Half of the silos get the sum without the victim to open. One of each half is asked what it found."""

    fork = OneKeyRound.UPLOAD


class RingTwoLists(RingAggregator):
    """Half of the silos hear of a ring without the victim."""

    deceived: Sequence[str] = DECEIVED

    def _pass_on(self, number: int, total: bytes) -> Messages:
        asked = super()._pass_on(number, total)
        if not set(asked) <= set(self.deceived):
            return asked
        advertised = pieces(_only(OTHERS, self._advertised))
        turn = ring_pb2.RingTurn(advertised=advertised, total=total).SerializeToString()
        return self._ask(number, dict.fromkeys(asked, turn))


def _only(names: Sequence[str] | set[str], said: Bodies) -> dict[str, bytes]:
    return {name: said[name] for name in sorted(said) if name in names}
