"""SecAgg from the first message to the sum: who may fall silent when, what is left of them, and what a crash costs."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import DomainError, MessageError, ProtocolError, QuorumLost, WrongRound
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import IntegerDomain, RealDomain
from siloseal.federation.transport.wire import masked_pb2, secagg_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Table

TableOf = Callable[..., Table]
LEFT_OUT = (Round.ADVERTISE, Round.SHARE, Round.UPLOAD)
"""Who falls silent in one of these is not in the sum."""


def gone(table: Table, number: Round, count: int) -> dict[str, Round]:
    return dict.fromkeys(table.roster[1 : 1 + count], number)


@pytest.mark.parametrize("number", Round)
class TestSilosThatFallSilent:
    @pytest.mark.parametrize("encrypted", [False, True], ids=["secagg", "ckks"])
    def test_exactly_t_survivors_open_the_sum(self, table_of: TableOf, number: Round, encrypted: bool) -> None:
        table = table_of(7, encrypted=encrypted)
        assert table.plan.threshold == 5
        silent = gone(table, number, 2)
        result = table.run(silent=silent)
        assert isinstance(result, Sum)
        without = tuple(silent) if number in LEFT_OUT else ()
        assert result.contributors == tuple(name for name in table.roster if name not in without)
        np.testing.assert_array_equal(result.total, table.total(*without))

    def test_one_fewer_leaves_no_sum(self, table_of: TableOf, number: Round) -> None:
        table = table_of(7)
        with pytest.raises(QuorumLost, match=r"4 of 7 silos answered .* 5 are needed"):
            table.run(silent=gone(table, number, 3))

    def test_the_sessions_quorum_counts_until_the_uploads_and_the_threshold_after_them(
        self, table_of: TableOf, number: Round
    ) -> None:
        table = table_of(7, quorum=6)
        if number in LEFT_OUT:
            with pytest.raises(QuorumLost, match=r"5 of 7 silos answered .* 6 are needed"):
                table.run(silent=gone(table, number, 2))
        else:
            result = table.run(silent=gone(table, number, 2))
            assert isinstance(result, Sum)
            assert result.contributors == table.roster


def test_silos_may_fall_silent_one_in_every_round(table_of: TableOf) -> None:
    table = table_of(16)
    silent = {table.roster[3 * number + 1]: number for number in Round}
    result = table.run(silent=silent)
    assert isinstance(result, Sum)
    without = tuple(name for name, number in silent.items() if number in LEFT_OUT)
    assert len(without) == 3
    np.testing.assert_array_equal(result.total, table.total(*without))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_smallest_crowds_have_their_sum(table_of: TableOf, count: int) -> None:
    table = table_of(count)
    result = table.run()
    assert isinstance(result, Sum)
    np.testing.assert_array_equal(result.total, table.total())


@pytest.mark.parametrize("modulus", [2, 3, 2**16, 2**16 - 1, 10**6, 2**40])
def test_any_modulus_gives_the_exact_sum(table_of: TableOf, modulus: int) -> None:
    table = table_of(3, domain=IntegerDomain(130, modulus))
    result = table.run()
    assert isinstance(result, Sum)
    np.testing.assert_array_equal(result.total, table.total())


def test_a_late_upload_of_a_declared_drop_out_is_rejected(table_of: TableOf) -> None:
    table = table_of(7)
    late = table.roster[2]
    requests = table.run(silent={late: Round.UPLOAD}, until=Round.UPLOAD)
    assert not isinstance(requests, Sum)
    upload = {name: table.silos[name].answer(message) for name, message in requests.items()}
    in_time = {name: reply for name, reply in upload.items() if name != late}
    confirm = table.side.advance(in_time)
    assert not isinstance(confirm, Sum)
    assert late not in confirm
    for refused in (lambda: table.side.check(late, upload[late]), lambda: table.side.advance(upload)):
        with pytest.raises(ProtocolError, match="not asked"):
            refused()


def test_a_false_share_among_more_than_t_does_no_harm(table_of: TableOf) -> None:
    table = table_of(7)

    def alter(number: Round, silo: str, message: bytes) -> bytes:
        return falsified(message) if (number, silo) == (Round.REVEAL, table.roster[0]) else message

    result = table.run(silent={table.roster[3]: Round.UPLOAD}, from_silo=alter)
    assert isinstance(result, Sum)
    np.testing.assert_array_equal(result.total, table.total(table.roster[3]))


def test_false_shares_that_cannot_be_told_from_right_ones_end_without_a_sum(table_of: TableOf) -> None:
    table = table_of(3)

    def alter(number: Round, silo: str, message: bytes) -> bytes:
        return falsified(message) if (number, silo) == (Round.REVEAL, table.roster[0]) else message

    with pytest.raises(ProtocolError, match="false share"):
        table.run(from_silo=alter)


def falsified(message: bytes) -> bytes:
    """Every revealed share with its lowest bit turned over."""
    wrapped = decode(sums_pb2.SumMessage, message)
    revealed = decode(sums_pb2.Pieces, wrapped.body)
    for piece in revealed.pieces:
        piece.data = bytes([piece.data[0] ^ 1]) + piece.data[1:]
    wrapped.body = revealed.SerializeToString()
    return wrapped.SerializeToString()


class TestAfterACrash:
    @pytest.mark.parametrize("number", Round)
    def test_a_silo_goes_on_from_what_it_kept(self, table_of: TableOf, number: Round) -> None:
        """Just before it answers this round: a new object takes up the state of the old one."""
        table = table_of(4)

        def restart(at: Round, silo: str, message: bytes) -> bytes:
            if at == number:
                fresh = table.silo(silo)
                fresh.restore(table.silos[silo].state())
                table.silos[silo] = fresh
            return message

        result = table.run(to_silo=restart, silent={table.roster[0]: Round.UPLOAD})
        assert isinstance(result, Sum)
        np.testing.assert_array_equal(result.total, table.total(table.roster[0]))

    def test_no_secret_of_its_own_is_kept_once_the_silo_has_uploaded(self, table_of: TableOf) -> None:
        table = table_of(4)
        table.run(until=Round.CONFIRM)
        memory = decode(masked_pb2.MaskedSiloState, table.silos[table.roster[0]].state())
        assert not memory.channel_key
        assert not memory.mask_key
        assert not memory.seed
        assert {piece.silo for piece in memory.held} == set(table.roster)

    def test_nothing_is_kept_when_the_sum_is_over(self, table_of: TableOf) -> None:
        table = table_of(4)
        table.run()
        for silo in table.silos.values():
            assert decode(masked_pb2.MaskedSiloState, silo.state()) == masked_pb2.MaskedSiloState(answered=len(Round))

    def test_a_silo_that_ended_with_a_refusal_stays_ended(self, table_of: TableOf) -> None:
        table = table_of(4)
        requests = table.run(until=Round.CONFIRM)
        assert not isinstance(requests, Sum)
        name = table.roster[1]
        message = decode(sums_pb2.SumMessage, requests[name])
        message.body = b"\0"
        with pytest.raises(ProtocolError, match="dropped out"):
            table.silos[name].answer(message.SerializeToString())
        fresh = table.silo(name)
        fresh.restore(table.silos[name].state())
        for side in (table.silos[name], fresh):
            with pytest.raises(WrongRound, match="ended"):
                side.answer(requests[name])


class TestOnARandomRing:
    def test_a_hundred_and_fifty_silos_have_their_sum_although_some_fall_silent(self, table_of: TableOf) -> None:
        table = table_of(150, ring=RandomRing(correctness_bits=10))
        assert not table.plan.complete
        assert {len(near) for near in table.plan.neighbours.values()} == {table.scheme.ring.shape(150).degree}
        silent = {table.roster[30 * number + 7]: number for number in Round}
        result = table.run(silent=silent)
        assert isinstance(result, Sum)
        without = tuple(name for name, number in silent.items() if number in LEFT_OUT)
        np.testing.assert_array_equal(result.total, table.total(*without))

    def test_a_silo_hears_of_its_neighbours_only(self, table_of: TableOf) -> None:
        table = table_of(120, ring=RandomRing())
        requests = table.run(until=Round.SHARE)
        assert not isinstance(requests, Sum)
        name = table.roster[5]
        told = decode(sums_pb2.Pieces, decode(sums_pb2.SumMessage, requests[name]).body).pieces
        assert {piece.silo for piece in told} == {name, *table.plan.neighbours[name]}

    def test_more_silent_silos_than_planned_for_leave_no_sum(self, table_of: TableOf) -> None:
        table = table_of(120, ring=RandomRing())
        with pytest.raises(QuorumLost, match="113 of 120 silos answered in round 3, 114 are needed"):
            table.run(silent=dict.fromkeys(table.roster[:7], Round.UPLOAD))

    def test_a_silo_with_too_few_neighbours_left_ends_the_session_for_itself(self, table_of: TableOf) -> None:
        table = table_of(120, ring=RandomRing())
        name = table.roster[5]

        def fewer(number: Round, silo: str, message: bytes) -> bytes:
            if (number, silo) != (Round.SHARE, name):
                return message
            wrapped = decode(sums_pb2.SumMessage, message)
            told = decode(sums_pb2.Pieces, wrapped.body)
            kept = [piece for piece in told.pieces if piece.silo == name]
            kept += [piece for piece in told.pieces if piece.silo != name][: table.plan.threshold - 1]
            wrapped.body = sums_pb2.Pieces(pieces=kept).SerializeToString()
            return wrapped.SerializeToString()

        with pytest.raises(QuorumLost, match="begin another sum"):
            table.run(to_silo=fewer)

    def test_below_a_hundred_silos_the_graph_is_complete(self, table_of: TableOf) -> None:
        small, large = table_of(99, ring=RandomRing()), table_of(100, ring=RandomRing())
        assert small.plan.complete
        assert small.plan.threshold == 67
        assert not large.plan.complete

    def test_two_sessions_have_different_rings(self, table_of: TableOf) -> None:
        table = table_of(120, ring=RandomRing())
        other = table.scheme.plan(table.session_of(1))
        assert other.neighbours != table.plan.neighbours


class TestBadParameters:
    @pytest.mark.parametrize("threshold", [1, 3, 8])
    def test_a_threshold_of_half_or_of_more_than_all_is_not_admitted(self, threshold: int) -> None:
        with pytest.raises(DomainError, match="above half"):
            SecAggSum(threshold).admit(IntegerDomain(10, 2**16), 7 if threshold == 8 else 6)

    def test_one_silo_is_not_admitted(self) -> None:
        with pytest.raises(DomainError, match="hides nothing"):
            SecAggConfig(kind="secagg").build().admit(RealDomain(10, 1.0), 1)

    def test_a_ring_that_cannot_be_is_not_admitted(self) -> None:
        scheme = SecAggPlusConfig(kind="secagg_plus", corrupt=0.33, dropout=0.33).build()
        scheme.admit(RealDomain(10, 1.0), 99)
        with pytest.raises(DomainError, match="assume smaller fractions, or take `kind: secagg`"):
            scheme.admit(RealDomain(10, 1.0), 100)

    def test_a_reply_that_is_too_large_or_of_another_size_is_refused_as_it_comes(self, table_of: TableOf) -> None:
        for number in Round:
            table = table_of(4)
            requests = table.run(until=number)
            assert not isinstance(requests, Sum)
            name = table.roster[0]
            reply = decode(sums_pb2.SumMessage, table.silos[name].answer(requests[name]))
            for body in (reply.body + bytes(10_000), reply.body[:-1], b""):
                altered = sums_pb2.SumMessage(session_digest=reply.session_digest, round=reply.round, body=body)
                with pytest.raises(ProtocolError):
                    table.side.check(name, altered.SerializeToString())
            table.side.check(name, reply.SerializeToString())

    @pytest.mark.parametrize("number", [Round.SHARE, Round.REVEAL])
    def test_letters_and_shares_of_another_size_are_refused(self, table_of: TableOf, number: Round) -> None:
        table = table_of(4)
        requests = table.run(until=number)
        assert not isinstance(requests, Sum)
        name = table.roster[0]
        wrapped = decode(sums_pb2.SumMessage, table.silos[name].answer(requests[name]))
        kind, field = (secagg_pb2.SecAggShares, "sealed") if number == Round.SHARE else (sums_pb2.Pieces, "pieces")
        message = decode(kind, wrapped.body)
        getattr(message, field)[1].data += b"\0"
        wrapped.body = message.SerializeToString()
        with pytest.raises(MessageError, match="bytes"):
            table.side.check(name, wrapped.SerializeToString())

    def test_letters_to_others_than_the_neighbours_are_refused(self, table_of: TableOf) -> None:
        table = table_of(4)
        requests = table.run(until=Round.SHARE)
        assert not isinstance(requests, Sum)
        name = table.roster[0]
        wrapped = decode(sums_pb2.SumMessage, table.silos[name].answer(requests[name]))
        shares = decode(secagg_pb2.SecAggShares, wrapped.body)
        shares.sealed[0].silo = shares.sealed[1].silo
        wrapped.body = shares.SerializeToString()
        with pytest.raises(MessageError, match="for each of its 3 neighbours"):
            table.side.check(name, wrapped.SerializeToString())
