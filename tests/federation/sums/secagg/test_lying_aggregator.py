"""An aggregator that lies: each silo sees it by itself, refuses, and its session is over."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
    MessageError,
    ProtocolError,
    QuorumLost,
    SealBroken,
    SessionMismatch,
    SignatureInvalid,
    WrongContributors,
    WrongRound,
)
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.masked.advertisement import advertise
from siloseal.federation.sums.secagg.graph import find_shape
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing
from siloseal.federation.sums.secagg.survivors import from_bits, sign_survivors, to_bits
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.transport.wire import masked_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

from .conftest import Table

TableOf = Callable[..., Table]

LOW_ORDER_POINTS = [
    bytes(32),
    bytes([1]) + bytes(31),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]


def requests_of(table: Table, number: Round, **options: object) -> Mapping[str, bytes]:
    requests = table.run(until=number, **options)  # type: ignore[arg-type]
    assert not isinstance(requests, Sum)
    return requests


def body_of(table: Table, number: Round, message: bytes) -> bytes:
    return unwrap(table.session, round=2 * number, data=message)


def refused(table: Table, name: str, number: Round, body: bytes, error: type[ProtocolError], match: str) -> None:
    """The silo refuses this body in this round, and everything after it, the right message included."""
    lie = wrap(table.session, round=2 * number, body=body)
    with pytest.raises(error, match=match):
        table.silos[name].answer(lie)
    with pytest.raises(WrongRound, match="ended"):
        table.silos[name].answer(lie)
    assert not decode(pb.MaskedSiloState, table.silos[name].state()).held


def with_piece(body: bytes, silo: str, data: bytes) -> bytes:
    """The same pieces, but for one."""
    told = decode(sums_pb2.Pieces, body)
    for piece in told.pieces:
        if piece.silo == silo:
            piece.data = data
    return told.SerializeToString()


@pytest.fixture(params=[False, True], ids=["secagg", "ckks"])
def table(table_of: TableOf, request: pytest.FixtureRequest) -> Table:
    """What the aggregator may ask of a silo is the same in both sums."""
    return table_of(7, encrypted=request.param)


class TestAboutKeys:
    @pytest.fixture
    def told(self, table: Table) -> bytes:
        return body_of(table, Round.SHARE, requests_of(table, Round.SHARE)[table.roster[0]])

    def test_a_key_that_its_silo_did_not_sign(self, table: Table, told: bytes) -> None:
        victim, other = table.roster[:2]
        forged = decode(pb.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[other])
        forged.keys[1] = bytes(range(32))
        lie = with_piece(told, other, forged.SerializeToString())
        refused(table, victim, Round.SHARE, lie, SignatureInvalid, other)

    def test_a_doubled_public_key(self, table: Table, told: bytes) -> None:
        """Two colluding silos sign the same keys, so that a victim would add and subtract one mask."""
        victim, one, two = table.roster[:3]
        keys = tuple(decode(pb.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[one]).keys)
        copied = advertise(table.session, table.identities[two], keys)
        refused(table, victim, Round.SHARE, with_piece(told, two, copied), WrongContributors, "public key came twice")

    def test_a_silo_that_copies_the_victims_own_key(self, table: Table, told: bytes) -> None:
        victim, two = table.roster[:2]
        mine = decode(pb.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[victim]).keys
        copied = advertise(table.session, table.identities[two], [bytes(range(32)), mine[1]])
        refused(table, victim, Round.SHARE, with_piece(told, two, copied), WrongContributors, "public key came twice")

    @pytest.mark.parametrize("point", LOW_ORDER_POINTS, ids=lambda point: point.hex()[:8])
    def test_a_low_order_point_to_seal_letters_for(self, table: Table, told: bytes, point: bytes) -> None:
        victim, other = table.roster[:2]
        weak = advertise(table.session, table.identities[other], [point, bytes(range(32))])
        refused(table, victim, Round.SHARE, with_piece(told, other, weak), SealBroken, "no usable X25519 key")

    @pytest.mark.parametrize("point", LOW_ORDER_POINTS, ids=lambda point: point.hex()[:8])
    def test_a_low_order_point_to_mask_with(self, table: Table, told: bytes, point: bytes) -> None:
        """Its secret is zero for everyone: the mask would be known. It is refused before anything is sealed."""
        victim, other = table.roster[:2]
        channel = decode(pb.Advertisement, {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[other]).keys[
            0
        ]
        weak = advertise(table.session, table.identities[other], [channel, point])
        refused(table, victim, Round.SHARE, with_piece(told, other, weak), SealBroken, "no usable X25519 key")

    def test_a_silo_whose_own_keys_are_left_out_or_replaced(self, table: Table, told: bytes) -> None:
        victim, other = table.roster[:2]
        without = sums_pb2.Pieces(pieces=[p for p in decode(sums_pb2.Pieces, told).pieces if p.silo != victim])
        refused(table, victim, Round.SHARE, without.SerializeToString(), WrongContributors, "left out")
        mine = {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[victim]
        refused(table, other, Round.SHARE, with_piece(told, other, mine), CommitmentBroken, "something else came back")

    def test_an_advertisement_of_another_session(self, table_of: TableOf, table: Table, told: bytes) -> None:
        victim, other = table.roster[:2]
        replayed = advertise(table.session_of(1), table.identities[other], [bytes(range(32)), bytes(range(1, 33))])
        refused(table, victim, Round.SHARE, with_piece(told, other, replayed), SignatureInvalid, other)

    def test_fewer_silos_than_the_threshold(self, table: Table, told: bytes) -> None:
        few = sums_pb2.Pieces(pieces=list(decode(sums_pb2.Pieces, told).pieces)[: table.plan.threshold - 1])
        refused(
            table, table.roster[0], Round.SHARE, few.SerializeToString(), QuorumLost, "4 silos remain, 5 are needed"
        )

    def test_a_stranger_and_a_silo_named_twice(self, table: Table, told: bytes) -> None:
        stranger = decode(sums_pb2.Pieces, told)
        stranger.pieces.add(silo="mallory", data=b"")
        refused(table, table.roster[0], Round.SHARE, stranger.SerializeToString(), WrongContributors, "mallory")
        twice = decode(sums_pb2.Pieces, told)
        twice.pieces.append(twice.pieces[3])
        refused(table, table.roster[1], Round.SHARE, twice.SerializeToString(), WrongContributors, "named twice")


class TestAboutLetters:
    def test_an_altered_letter(self, table: Table) -> None:
        victim, other = table.roster[:2]
        told = body_of(table, Round.UPLOAD, requests_of(table, Round.UPLOAD)[victim])
        letter = {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[other]
        altered = letter[:20] + bytes([letter[20] ^ 1]) + letter[21:]
        refused(table, victim, Round.UPLOAD, with_piece(told, other, altered), SealBroken, "does not open")

    def test_a_letter_of_one_silo_given_out_as_anothers(self, table: Table) -> None:
        victim, one, two = table.roster[:3]
        told = body_of(table, Round.UPLOAD, requests_of(table, Round.UPLOAD)[victim])
        letter = {p.silo: p.data for p in decode(sums_pb2.Pieces, told).pieces}[one]
        refused(table, victim, Round.UPLOAD, with_piece(told, two, letter), SealBroken, "does not open")

    def test_letters_of_another_session(self, table_of: TableOf, table: Table) -> None:
        """The same silos, and the same aggregator, one session later."""
        victim, other = table.roster[0], table_of(7, id=1)
        requests = requests_of(table, Round.UPLOAD)
        strange = requests_of(other, Round.UPLOAD)
        with pytest.raises(SessionMismatch):
            table.silos[victim].answer(strange[victim])
        body = body_of(other, Round.UPLOAD, strange[victim])
        assert body != body_of(table, Round.UPLOAD, requests[victim])
        refused(table, victim, Round.UPLOAD, body, SealBroken, "does not open")


class TestAboutSurvivors:
    def confirm(self, table: Table, **options: object) -> bytes:
        return body_of(table, Round.CONFIRM, requests_of(table, Round.CONFIRM, **options)[table.roster[0]])

    def test_a_list_without_the_silo_itself(self, table: Table) -> None:
        self.confirm(table)
        lie = to_bits(table.session, table.roster[1:])
        refused(table, table.roster[0], Round.CONFIRM, lie, WrongContributors, "said to have dropped out")

    def test_a_survivor_that_had_dropped_out_before_it_shared(self, table: Table) -> None:
        """The list is no subset of those who shared: there would be nothing to remove the stranger's masks with."""
        late = table.roster[3]
        self.confirm(table, silent={late: Round.SHARE})
        lie = to_bits(table.session, table.roster)
        refused(table, table.roster[0], Round.CONFIRM, lie, WrongContributors, f"{late} .* gave silo000 no shares")

    def test_fewer_survivors_than_the_session_demands(self, table: Table) -> None:
        self.confirm(table)
        lie = to_bits(table.session, table.roster[:4])
        refused(table, table.roster[0], Round.CONFIRM, lie, QuorumLost, "4 silos are left in the sum, 5 are needed")

    def test_enough_to_open_but_fewer_survivors_than_the_session_demands(self, table_of: TableOf) -> None:
        table = table_of(7, quorum=6)
        self.confirm(table)
        lie = to_bits(table.session, table.roster[:5])
        refused(table, table.roster[0], Round.CONFIRM, lie, QuorumLost, "5 silos are left in the sum, 6 are needed")

    @pytest.mark.parametrize("bits", [b"", b"\x7f\0", b"\xff"])
    def test_bits_that_are_no_list_of_this_roster(self, table: Table, bits: bytes) -> None:
        self.confirm(table)
        refused(table, table.roster[0], Round.CONFIRM, bits, MessageError, "bit")

    def test_both_secrets_of_one_peer_by_asking_twice(self, table: Table) -> None:
        """First with the peer among the survivors, then among the drop-outs."""
        first = self.confirm(table)
        victim, peer = table.roster[:2]
        table.silos[victim].answer(wrap(table.session, round=2 * Round.CONFIRM, body=first))
        second = to_bits(table.session, [name for name in table.roster if name != peer])
        with pytest.raises(WrongRound):
            table.silos[victim].answer(wrap(table.session, round=2 * Round.CONFIRM, body=second))
        signed = {name: sign_survivors(table.session, table.identities[name], second) for name in table.roster}
        refused(table, victim, Round.REVEAL, pieces_of(signed), SignatureInvalid, "silo00")

    def test_both_secrets_of_one_peer_by_asking_again_after_the_shares_left(self, table: Table) -> None:
        requests = requests_of(table, Round.REVEAL)
        victim, peer = table.roster[:2]
        revealed = body_of_reply(table, table.silos[victim].answer(requests[victim]))
        assert {len(share) for share in revealed.values()} == {32}, "one share of each"
        assert set(revealed) == set(table.roster)
        again = to_bits(table.session, [name for name in table.roster if name != peer])
        for number, body in ((Round.CONFIRM, again), (Round.REVEAL, pieces_of({}))):
            with pytest.raises(WrongRound, match="ended"):
                table.silos[victim].answer(wrap(table.session, round=2 * number, body=body))

    def test_a_silo_reveals_the_key_of_a_drop_out_and_the_seed_of_a_survivor_and_nothing_else(
        self, table: Table
    ) -> None:
        gone = table.roster[3]
        held = dict[str, bytes]()
        requests = requests_of(table, Round.REVEAL, silent={gone: Round.UPLOAD})
        victim = table.roster[0]
        for piece in decode(pb.MaskedSiloState, table.silos[victim].state()).held:
            held[piece.silo] = piece.data
        revealed = body_of_reply(table, table.silos[victim].answer(requests[victim]))
        assert revealed[gone] == held[gone][:32]
        assert all(revealed[name] == held[name][-32:] for name in table.roster if name != gone)

    def test_different_lists_for_different_silos(self, table: Table) -> None:
        """Each list has survivors enough; together they would leave one silo alone under no mask but its own."""
        self.confirm(table)
        signatures = dict[str, bytes]()
        for place, name in enumerate(table.roster):
            dropped = {table.roster[(place + distance) % 7] for distance in (1, 2)}
            bits = to_bits(table.session, set(table.roster) - dropped)
            reply = table.silos[name].answer(wrap(table.session, round=2 * Round.CONFIRM, body=bits))
            signatures[name] = unwrap(table.session, round=2 * Round.CONFIRM + 1, data=reply)
        for name, place in table.session.places.items():
            told = {
                other: signatures[other]
                for other in table.roster
                if other not in {table.roster[(place + distance) % 7] for distance in (1, 2)}
            }
            refused(table, name, Round.REVEAL, pieces_of(told), SignatureInvalid, "silo00")

    def test_fewer_signatures_than_the_threshold(self, table: Table) -> None:
        requests = requests_of(table, Round.REVEAL)
        victim = table.roster[0]
        told = list(decode(sums_pb2.Pieces, body_of(table, Round.REVEAL, requests[victim])).pieces)[:4]
        body = sums_pb2.Pieces(pieces=told).SerializeToString()
        refused(table, victim, Round.REVEAL, body, QuorumLost, "4 silos remain, 5 are needed")

    def test_every_signature_up_to_the_threshold_counts(self, table: Table) -> None:
        requests = requests_of(table, Round.REVEAL)
        for place in range(5):
            victim = table.roster[place]
            told = list(decode(sums_pb2.Pieces, body_of(table, Round.REVEAL, requests[victim])).pieces)[:5]
            told[place].data = bytes(64)
            body = sums_pb2.Pieces(pieces=told).SerializeToString()
            refused(table, victim, Round.REVEAL, body, SignatureInvalid, "told it another one, or altered")

    def test_a_signature_of_a_silo_that_is_no_survivor(self, table: Table) -> None:
        gone = table.roster[3]
        requests = requests_of(table, Round.REVEAL, silent={gone: Round.UPLOAD})
        victim = table.roster[0]
        told = decode(sums_pb2.Pieces, body_of(table, Round.REVEAL, requests[victim]))
        told.pieces.add(silo=gone, data=told.pieces[0].data)
        refused(table, victim, Round.REVEAL, told.SerializeToString(), WrongContributors, gone)

    def test_a_signature_of_another_session(self, table: Table) -> None:
        requests = requests_of(table, Round.REVEAL)
        victim, other = table.roster[:2]
        body = body_of(table, Round.REVEAL, requests[victim])
        bits = to_bits(table.session, table.roster)
        replayed = sign_survivors(table.session_of(1), table.identities[other], bits)
        refused(table, victim, Round.REVEAL, with_piece(body, other, replayed), SignatureInvalid, other)


class TestOnARandomRing:
    def test_neighbours_that_were_told_another_list_are_not_enough(self, table_of: TableOf) -> None:
        """On a ring a silo hears its neighbours only. Half of them, told something else, keep it from revealing."""
        table = table_of(120, ring=RandomRing())
        requests_of(table, Round.CONFIRM)
        victim = table.roster[0]
        mine = to_bits(table.session, set(table.roster) - {table.roster[1]})
        table.silos[victim].answer(wrap(table.session, round=2 * Round.CONFIRM, body=mine))
        signed = dict[str, bytes]()
        for place, name in enumerate(table.plan.near(victim)):
            bits = (
                mine if place % 2 or name == victim else to_bits(table.session, set(table.roster) - {table.roster[2]})
            )
            if name not in (table.roster[1], table.roster[2]):
                signed[name] = sign_survivors(table.session, table.identities[name], bits)
        alike = {name: signature for name, signature in signed.items() if is_of(table, name, mine, signature)}
        assert len(alike) < table.plan.fewest_near <= len(signed)
        refused(table, victim, Round.REVEAL, pieces_of(signed), SignatureInvalid, "silo")

    def test_t_neighbours_beside_the_silo_itself_must_have_signed(self, table_of: TableOf) -> None:
        table = table_of(120, ring=RandomRing())
        requests = requests_of(table, Round.REVEAL)
        victim, other = table.roster[:2]
        for name, enough in ((victim, False), (other, True)):
            told = list(decode(sums_pb2.Pieces, body_of(table, Round.REVEAL, requests[name])).pieces)
            kept = [p for p in told if p.silo == name]
            kept += [p for p in told if p.silo != name][: table.plan.threshold - (not enough)]
            body = sums_pb2.Pieces(pieces=kept).SerializeToString()
            if enough:
                table.silos[name].answer(wrap(table.session, round=2 * Round.REVEAL, body=body))
            else:
                refused(table, name, Round.REVEAL, body, QuorumLost, "are needed")

    def test_the_threshold_leaves_room_for_one_list_only(self, table_of: TableOf) -> None:
        """Honest holders reveal one of a silo's secrets, corrupted ones both: k + c shares, of which two times t."""
        for silos in (100, 300, 1000):
            shape = RandomRing().shape(silos)
            expected = 0.05 * shape.degree
            assert 2 * shape.threshold > shape.degree + expected


def pieces_of(said: Mapping[str, bytes]) -> bytes:
    return sums_pb2.Pieces(
        pieces=[sums_pb2.Piece(silo=silo, data=data) for silo, data in said.items()]
    ).SerializeToString()


def body_of_reply(table: Table, reply: bytes) -> dict[str, bytes]:
    body = unwrap(table.session, round=2 * Round.REVEAL + 1, data=reply)
    return {piece.silo: piece.data for piece in decode(sums_pb2.Pieces, body).pieces}


def is_of(table: Table, name: str, bits: bytes, signature: bytes) -> bool:
    return sign_survivors(table.session, table.identities[name], bits) == signature


def test_a_list_is_read_back_as_it_was_written(table_of: TableOf) -> None:
    for count in (2, 7, 8, 9, 120):
        table = table_of(count)
        chosen = tuple(np.random.default_rng(count).permutation(table.roster)[: count // 2 + 1])
        assert set(from_bits(table.session, to_bits(table.session, chosen))) == set(chosen)


def test_a_roster_on_which_two_silos_are_one_is_joined_by_nobody(table_of: TableOf) -> None:
    table = table_of(3)
    keys = table.session.identities
    doubled = replace(table.session, identities=(keys[0], keys[1], keys[1]))
    with pytest.raises(DomainError, match="share an identity key"):
        table.scheme.silo(
            doubled, table.identities[table.roster[0]], table.vectors[table.roster[0]], SecureRandomness()
        )


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
        shape = find_shape(
            1000, security_bits=40, correctness_bits=30, corrupt=0.05, dropout=0.05, lying=True, one_list=False
        )
        assert any(
            self.opens(shape.degree, shape.threshold, arc, 6) for arc in range(shape.threshold, 3 * shape.degree)
        )
