"""An aggregator that lies: each silo sees it by itself, refuses, and its session is over."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import (
    MessageError,
    ProtocolError,
    QuorumLost,
    SealBroken,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.sums.envelope import unwrap, wrap
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing
from siloseal.federation.sums.secagg.survivors import from_bits, sign_survivors, to_bits
from siloseal.federation.transport.wire import masked_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties
from .published_shapes import published_shape

PartiesOf = Callable[..., Parties]

LOW_ORDER_POINTS = [
    bytes(32),
    bytes([1]) + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]


def requests_of(parties: Parties, number: Round, **options: object) -> Mapping[str, bytes]:
    return parties.run_until(number, **options)  # type: ignore[arg-type]


def body_of(parties: Parties, number: Round, message: bytes) -> bytes:
    return unwrap(parties.session, round=2 * number, data=message)


def refused(parties: Parties, name: str, number: Round, body: bytes, error: type[ProtocolError]) -> None:
    """The silo refuses this body in this round, and everything after it."""
    lie = wrap(parties.session, round=2 * number, body=body)
    with pytest.raises(error):
        parties.silos[name].answer(lie)
    with pytest.raises(WrongRound):
        parties.silos[name].answer(lie)
    assert not decode(masked_pb2.MaskedSiloState, parties.silos[name].state()).held


def with_piece(body: bytes, silo: str, data: bytes) -> bytes:
    """The same pieces, but for one."""
    told = decode(sums_pb2.Pieces, body)
    for piece in told.pieces:
        if piece.silo == silo:
            piece.data = data
    return told.SerializeToString()


@pytest.fixture(params=[False, True], ids=["secagg", "ckks"])
def parties(parties_of: PartiesOf, request: pytest.FixtureRequest) -> Parties:
    """What the aggregator may ask of a silo is the same in both sums."""
    return parties_of(7, encrypted=request.param)


class TestAboutKeys:
    @pytest.fixture
    def told(self, parties: Parties) -> bytes:
        return body_of(parties, Round.SHARE, requests_of(parties, Round.SHARE)[parties.roster[0]])

    def test_a_key_that_its_silo_did_not_sign(self, parties: Parties, told: bytes) -> None:
        victim, other = parties.roster[:2]
        forged = decode(masked_pb2.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[other])
        forged.keys[1] = bytes(range(32))
        lie = with_piece(told, other, forged.SerializeToString())
        refused(parties, victim, Round.SHARE, lie, SignatureInvalid)

    def test_a_silo_that_copies_the_victims_own_key(self, parties: Parties, told: bytes) -> None:
        victim, two = parties.roster[:2]
        mine = decode(
            masked_pb2.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[victim]
        ).keys
        copied = advertise(parties.session, parties.identities[two], [bytes(range(32)), mine[1]])
        refused(parties, victim, Round.SHARE, with_piece(told, two, copied), WrongContributors)

    @pytest.mark.parametrize("point", LOW_ORDER_POINTS, ids=lambda point: point.hex()[:8])
    def test_a_low_order_point_to_seal_shares_for(self, parties: Parties, told: bytes, point: bytes) -> None:
        victim, other = parties.roster[:2]
        weak = advertise(parties.session, parties.identities[other], [point, bytes(range(32))])
        refused(parties, victim, Round.SHARE, with_piece(told, other, weak), SealBroken)

    @pytest.mark.parametrize("point", LOW_ORDER_POINTS, ids=lambda point: point.hex()[:8])
    def test_a_low_order_point_to_mask_with(self, parties: Parties, told: bytes, point: bytes) -> None:
        """Its secret is zero for everyone: the mask would be known. It is refused before anything is sealed."""
        victim, other = parties.roster[:2]
        channel = decode(
            masked_pb2.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[other]
        ).keys[0]
        weak = advertise(parties.session, parties.identities[other], [channel, point])
        refused(parties, victim, Round.SHARE, with_piece(told, other, weak), SealBroken)


class TestAboutSurvivors:
    def confirm(self, parties: Parties, **options: object) -> bytes:
        return body_of(parties, Round.CONFIRM, requests_of(parties, Round.CONFIRM, **options)[parties.roster[0]])

    def test_a_list_without_the_silo_itself(self, parties: Parties) -> None:
        self.confirm(parties)
        lie = to_bits(parties.session, parties.roster[1:])
        refused(parties, parties.roster[0], Round.CONFIRM, lie, WrongContributors)

    def test_a_survivor_that_had_dropped_out_before_it_shared(self, parties: Parties) -> None:
        """The list is no subset of those who shared: there would be nothing to remove the stranger's masks with."""
        late = parties.roster[3]
        self.confirm(parties, silent={late: Round.SHARE})
        lie = to_bits(parties.session, parties.roster)
        refused(parties, parties.roster[0], Round.CONFIRM, lie, WrongContributors)

    def test_fewer_survivors_than_the_session_demands(self, parties: Parties) -> None:
        self.confirm(parties)
        lie = to_bits(parties.session, parties.roster[:4])
        refused(parties, parties.roster[0], Round.CONFIRM, lie, QuorumLost)

    def test_enough_to_open_but_fewer_survivors_than_the_session_demands(self, parties_of: PartiesOf) -> None:
        parties = parties_of(7, quorum=6)
        self.confirm(parties)
        lie = to_bits(parties.session, parties.roster[:5])
        refused(parties, parties.roster[0], Round.CONFIRM, lie, QuorumLost)

    @pytest.mark.parametrize("bits", [b"", b"\x7f\0", b"\xff"])
    def test_bits_that_are_no_list_of_this_roster(self, parties: Parties, bits: bytes) -> None:
        self.confirm(parties)
        refused(parties, parties.roster[0], Round.CONFIRM, bits, MessageError)

    def test_both_secrets_of_one_peer_by_asking_twice(self, parties: Parties) -> None:
        """First with the peer among the survivors, then among the drop-outs."""
        first = self.confirm(parties)
        victim, peer = parties.roster[:2]
        parties.silos[victim].answer(wrap(parties.session, round=2 * Round.CONFIRM, body=first))
        second = to_bits(parties.session, [name for name in parties.roster if name != peer])
        with pytest.raises(WrongRound):
            parties.silos[victim].answer(wrap(parties.session, round=2 * Round.CONFIRM, body=second))
        signed = {name: sign_survivors(parties.session, parties.identities[name], second) for name in parties.roster}
        refused(parties, victim, Round.REVEAL, pieces_of(signed), SignatureInvalid)

    def test_both_secrets_of_one_peer_by_asking_again_after_the_shares_left(self, parties: Parties) -> None:
        requests = requests_of(parties, Round.REVEAL)
        victim, peer = parties.roster[:2]
        revealed = body_of_reply(parties, parties.silos[victim].answer(requests[victim]))
        assert {len(share) for share in revealed.values()} == {32}, "one share of each"
        assert set(revealed) == set(parties.roster)
        again = to_bits(parties.session, [name for name in parties.roster if name != peer])
        for number, body in ((Round.CONFIRM, again), (Round.REVEAL, pieces_of({}))):
            with pytest.raises(WrongRound):
                parties.silos[victim].answer(wrap(parties.session, round=2 * number, body=body))

    def test_a_silo_reveals_the_key_of_a_drop_out_and_the_seed_of_a_survivor_and_nothing_else(
        self, parties: Parties
    ) -> None:
        gone = parties.roster[3]
        held = dict[str, bytes]()
        requests = requests_of(parties, Round.REVEAL, silent={gone: Round.UPLOAD})
        victim = parties.roster[0]
        for piece in decode(masked_pb2.MaskedSiloState, parties.silos[victim].state()).held:
            held[piece.silo] = piece.data
        revealed = body_of_reply(parties, parties.silos[victim].answer(requests[victim]))
        assert revealed[gone] == held[gone][:32]
        assert all(revealed[name] == held[name][-32:] for name in parties.roster if name != gone)

    def test_different_lists_for_different_silos(self, parties: Parties) -> None:
        """Each list has survivors enough; together they would leave one silo alone under no mask but its own."""
        self.confirm(parties)
        signatures = dict[str, bytes]()
        for place, name in enumerate(parties.roster):
            dropped = {parties.roster[(place + distance) % 7] for distance in (1, 2)}
            bits = to_bits(parties.session, set(parties.roster) - dropped)
            reply = parties.silos[name].answer(wrap(parties.session, round=2 * Round.CONFIRM, body=bits))
            signatures[name] = unwrap(parties.session, round=2 * Round.CONFIRM + 1, data=reply)
        for name, place in parties.session.places.items():
            told = {
                other: signatures[other]
                for other in parties.roster
                if other not in {parties.roster[(place + distance) % 7] for distance in (1, 2)}
            }
            refused(parties, name, Round.REVEAL, pieces_of(told), SignatureInvalid)

    def test_fewer_signatures_than_the_threshold(self, parties: Parties) -> None:
        requests = requests_of(parties, Round.REVEAL)
        victim = parties.roster[0]
        told = list(decode(sums_pb2.Pieces, body_of(parties, Round.REVEAL, requests[victim])).pieces)[:4]
        body = sums_pb2.Pieces(pieces=told).SerializeToString()
        refused(parties, victim, Round.REVEAL, body, QuorumLost)

    def test_every_signature_up_to_the_threshold_counts(self, parties: Parties) -> None:
        requests = requests_of(parties, Round.REVEAL)
        for place in range(5):
            victim = parties.roster[place]
            told = list(decode(sums_pb2.Pieces, body_of(parties, Round.REVEAL, requests[victim])).pieces)[:5]
            told[place].data = bytes(64)
            body = sums_pb2.Pieces(pieces=told).SerializeToString()
            refused(parties, victim, Round.REVEAL, body, SignatureInvalid)

    def test_a_signature_of_a_silo_that_is_no_survivor(self, parties: Parties) -> None:
        gone = parties.roster[3]
        requests = requests_of(parties, Round.REVEAL, silent={gone: Round.UPLOAD})
        victim = parties.roster[0]
        told = decode(sums_pb2.Pieces, body_of(parties, Round.REVEAL, requests[victim]))
        told.pieces.add(silo=gone, data=told.pieces[0].data)
        refused(parties, victim, Round.REVEAL, told.SerializeToString(), WrongContributors)

    def test_a_signature_of_another_session(self, parties: Parties) -> None:
        requests = requests_of(parties, Round.REVEAL)
        victim, other = parties.roster[:2]
        body = body_of(parties, Round.REVEAL, requests[victim])
        bits = to_bits(parties.session, parties.roster)
        replayed = sign_survivors(parties.session_of(1), parties.identities[other], bits)
        refused(parties, victim, Round.REVEAL, with_piece(body, other, replayed), SignatureInvalid)


class TestOnARandomRing:
    def test_neighbours_that_were_told_another_list_are_not_enough(self, parties_of: PartiesOf) -> None:
        """On a ring a silo hears its neighbours only. Half of them, told something else, keep it from revealing."""
        parties = parties_of(120, ring=RandomRing())
        requests_of(parties, Round.CONFIRM)
        victim = parties.roster[0]
        mine = to_bits(parties.session, set(parties.roster) - {parties.roster[1]})
        parties.silos[victim].answer(wrap(parties.session, round=2 * Round.CONFIRM, body=mine))
        signed = dict[str, bytes]()
        for place, name in enumerate(parties.plan.near(victim)):
            bits = (
                mine
                if place % 2 or name == victim
                else to_bits(parties.session, set(parties.roster) - {parties.roster[2]})
            )
            if name not in (parties.roster[1], parties.roster[2]):
                signed[name] = sign_survivors(parties.session, parties.identities[name], bits)
        alike = {name: signature for name, signature in signed.items() if is_of(parties, name, mine, signature)}
        assert len(alike) < parties.plan.fewest_near <= len(signed)
        refused(parties, victim, Round.REVEAL, pieces_of(signed), SignatureInvalid)

    def test_t_neighbours_beside_the_silo_itself_must_have_signed(self, parties_of: PartiesOf) -> None:
        parties = parties_of(120, ring=RandomRing())
        requests = requests_of(parties, Round.REVEAL)
        victim, other = parties.roster[:2]
        for name, enough in ((victim, False), (other, True)):
            told = list(decode(sums_pb2.Pieces, body_of(parties, Round.REVEAL, requests[name])).pieces)
            kept = [p for p in told if p.silo == name]
            kept += [p for p in told if p.silo != name][: parties.plan.threshold - (not enough)]
            body = sums_pb2.Pieces(pieces=kept).SerializeToString()
            if enough:
                parties.silos[name].answer(wrap(parties.session, round=2 * Round.REVEAL, body=body))
            else:
                refused(parties, name, Round.REVEAL, body, QuorumLost)

    def test_the_threshold_leaves_room_for_one_list_only(self, parties_of: PartiesOf) -> None:
        """Honest holders reveal one of a silo's secrets, corrupted ones both: k + c shares, of which two times t."""
        for silos in (100, 300, 1000):
            shape = RandomRing().shape(silos)
            expected = 0.05 * shape.degree
            assert 2 * shape.threshold > shape.degree + expected


def pieces_of(said: Mapping[str, bytes]) -> bytes:
    return sums_pb2.Pieces(
        pieces=[sums_pb2.Piece(silo=silo, data=data) for silo, data in said.items()]
    ).SerializeToString()


def body_of_reply(parties: Parties, reply: bytes) -> dict[str, bytes]:
    body = unwrap(parties.session, round=2 * Round.REVEAL + 1, data=reply)
    return {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, body).pieces}


def is_of(parties: Parties, name: str, bits: bytes, signature: bytes) -> bool:
    return sign_survivors(parties.session, parties.identities[name], bits) == signature


def test_a_list_is_read_back_as_it_was_written(parties_of: PartiesOf) -> None:
    for count in (2, 7, 8, 9, 120):
        parties = parties_of(count)
        chosen = tuple(np.random.default_rng(count).permutation(parties.roster)[: count // 2 + 1])
        assert set(from_bits(parties.session, to_bits(parties.session, chosen))) == set(chosen)


class TestCuttingAnArcOutOfTheRing:
    """Two lists: to the arc, all around it dropped out; to all others, a few silos beyond its ends did.

    Seeds of the arc's ends are then asked of both sides. The published threshold lets it happen with few corrupted
    silos, or none; ours does not.
    """

    @staticmethod
    def opens(degree: int, threshold: int, arc: int, corrupted: int) -> bool:
        """Whether the ends of such an arc would be opened, on a ring of places, with so many corrupted beyond each end.

        They help most just there: they sign both lists, and reveal for both.
        """
        half = degree // 2
        inside = sum(half + min(depth, half, arc - 1 - depth) + corrupted >= threshold for depth in range(half))
        outside = sum(half + beyond + corrupted >= threshold for beyond in range(half - corrupted))
        return inside + outside + corrupted >= threshold

    @pytest.mark.parametrize("silos", [100, 300, 1000, 10_000])
    def test_is_ruled_out_by_the_threshold(self, silos: int) -> None:
        ring = RandomRing()
        shape = ring.shape(silos)
        corrupted = max(
            count
            for count in range(shape.degree)
            if silos * stats.hypergeom.sf(count - 1, silos, silos // 20, shape.degree) > 2.0**-41
        )
        assert 3 * shape.threshold > 2 * shape.degree + 2 * corrupted + 1
        for arc in range(shape.threshold, min(silos, 3 * shape.degree)):
            assert not self.opens(shape.degree, shape.threshold, arc, corrupted)

    def test_would_be_possible_under_the_published_threshold(self) -> None:
        shape = published_shape(1000, security_bits=40, correctness_bits=30, corrupt=0.05, dropout=0.05, lying=True)
        assert any(
            self.opens(shape.degree, shape.threshold, arc, 6) for arc in range(shape.threshold, 3 * shape.degree)
        )
