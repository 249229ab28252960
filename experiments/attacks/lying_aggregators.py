"""Aggregators' real sides, each with one lie about whose contributions are to be opened."""

from experiments.attacks.table import OTHERS, VICTIM, Messages
from federation.ckks.aggregator_side import CkksAggregator
from federation.one_key.aggregator_side import OneKeyAggregator
from federation.one_key.statements import Round as OneKeyRound
from federation.rounds import Bodies, pieces
from federation.secagg.aggregator_side import SecAggAggregator
from federation.secagg.plan import Round as SecAggRound
from federation.secagg.survivors import to_bits
from federation.secure_sum import Sum
from federation.session import RealDomain, Vector
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, from_array

DECEIVED = OTHERS[1:]
"""Half of the silos."""


class SecAggOfOne(SecAggAggregator):
    """Says that only the victim uploaded. The others hold shares of its seed, and are asked for them."""

    def _uploads(self, replies: Bodies) -> Messages:
        super()._uploads({VICTIM: replies[VICTIM]})
        return self._ask(SecAggRound.CONFIRM, dict.fromkeys(replies, self._bits))

    def _shares(self, holder: str, body: bytes) -> dict[str, bytes]:
        """A silo that takes itself for a drop-out has no share of its own key: the others' are enough."""
        revealed = {piece.silo: piece.data for piece in decode(pb.Pieces, body).pieces}
        return {silo: share for silo, share in revealed.items() if silo != holder or silo == VICTIM}


class SecAggTwoLists(SecAggAggregator):
    """The victim uploaded, half of the silos hear."""

    def _uploads(self, replies: Bodies) -> Messages:
        super()._uploads(replies)
        without = to_bits(self._session, OTHERS)
        bits = {name: without if name in DECEIVED else self._bits for name in replies}
        return self._ask(SecAggRound.CONFIRM, bits)


class CkksOfOne(CkksAggregator):
    """Hands out the victim's ciphertext as the sum, to everyone."""

    def _uploads(self, number: int, replies: Bodies) -> Messages:
        super()._uploads(number, {VICTIM: replies[VICTIM]})
        half = decode(pb.CiphertextUpload, self._body(number, replies[VICTIM])).c1
        return self._ask(number + 1, dict.fromkeys(replies, pieces({VICTIM: half})))


class CkksTwoLists(CkksAggregator):
    """Half of the silos open a sum without the victim. They are then said to be silent, to get at their key shares."""

    def _uploads(self, number: int, replies: Bodies) -> Messages:
        super()._uploads(number, replies)
        halves = {name: decode(pb.CiphertextUpload, self._body(number, replies[name])).c1 for name in replies}
        every, without = pieces(halves), pieces({name: halves[name] for name in OTHERS})
        return self._ask(number + 1, {name: without if name in DECEIVED else every for name in replies})

    def _openings(self, number: int, replies: Bodies) -> Messages | Sum:
        return super()._openings(number, {name: reply for name, reply in replies.items() if name not in DECEIVED})


class OneKeyTwoSums(OneKeyAggregator):
    """Half of the silos get the sum without the victim to open. One of each half is asked what it found."""

    def _advance(self, number: int, replies: Bodies) -> Messages | Sum:
        said, tellers = self._bodies(number, replies), (VICTIM, DECEIVED[0])
        match number:
            case OneKeyRound.UPLOAD:
                self._contributors, adder = tuple(sorted(said)), self._own_adder()
                every, without = adder.add(said.values()), adder.add([said[name] for name in OTHERS])
                return self._ask(OneKeyRound.OPEN, {name: without if name in DECEIVED else every for name in said})
            case OneKeyRound.OPEN:
                return self._ask(OneKeyRound.TELL, dict.fromkeys(tellers, b""))
            case OneKeyRound.TELL:
                first, second = (self._read(said[name]) for name in tellers)
                self.told = first, second
                return Sum(first, self._contributors, 0.0)
            case _:
                return super()._advance(number, replies)

    def _read(self, body: bytes) -> Vector:
        domain = self._session.domain
        dtype = "<f8" if isinstance(domain, RealDomain) else "<i8"
        return from_array(decode(pb.Array, body), dtype=dtype, length=domain.length)
