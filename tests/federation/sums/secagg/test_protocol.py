"""SecAgg from the first message to the sum: who may fall silent when, what is left of them, and what a crash costs."""

from collections.abc import Callable

import numpy as np
import pytest

from siloseal.federation.errors import CommitmentBroken, DomainError, MessageError, QuorumLost
from siloseal.federation.sums.secagg.config import SecAggPlusConfig
from siloseal.federation.sums.secagg.plan import Round
from siloseal.federation.sums.secagg.secagg_sum import RandomRing, SecAggSum
from siloseal.federation.sums.session import IntegerDomain, RealDomain
from siloseal.federation.transport.wire import masked_pb2, secagg_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties

PartiesOf = Callable[..., Parties]
LEFT_OUT = (Round.ADVERTISE, Round.SHARE, Round.UPLOAD)
"""Who falls silent in one of these is not in the sum."""


def gone(parties: Parties, number: Round, count: int) -> dict[str, Round]:
    return dict.fromkeys(parties.roster[1 : 1 + count], number)


@pytest.mark.parametrize("number", Round)
class TestSilosThatFallSilent:
    @pytest.mark.parametrize("encrypted", [False, True], ids=["secagg", "ckks"])
    def test_exactly_t_survivors_open_the_sum(self, parties_of: PartiesOf, number: Round, encrypted: bool) -> None:
        parties = parties_of(7, encrypted=encrypted)
        assert parties.plan.threshold == 5
        silent = gone(parties, number, 2)
        result = parties.run(silent=silent)
        without = tuple(silent) if number in LEFT_OUT else ()
        assert result.contributors == tuple(name for name in parties.roster if name not in without)
        np.testing.assert_array_equal(result.total, parties.total_without(*without))

    def test_one_fewer_leaves_no_sum(self, parties_of: PartiesOf, number: Round) -> None:
        parties = parties_of(7)
        with pytest.raises(QuorumLost):
            parties.run(silent=gone(parties, number, 3))

    def test_the_sessions_quorum_counts_until_the_uploads_and_the_threshold_after_them(
        self, parties_of: PartiesOf, number: Round
    ) -> None:
        parties = parties_of(7, quorum=6)
        if number in LEFT_OUT:
            with pytest.raises(QuorumLost):
                parties.run(silent=gone(parties, number, 2))
        else:
            result = parties.run(silent=gone(parties, number, 2))
            assert result.contributors == parties.roster


def test_silos_may_fall_silent_one_in_every_round(parties_of: PartiesOf) -> None:
    parties = parties_of(16)
    silent = {parties.roster[3 * number + 1]: number for number in Round}
    result = parties.run(silent=silent)
    without = tuple(name for name, number in silent.items() if number in LEFT_OUT)
    assert len(without) == 3
    np.testing.assert_array_equal(result.total, parties.total_without(*without))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_smallest_crowds_have_their_sum(parties_of: PartiesOf, count: int) -> None:
    parties = parties_of(count)
    result = parties.run()
    np.testing.assert_array_equal(result.total, parties.total())


def test_a_late_upload_of_a_declared_drop_out_is_rejected(parties_of: PartiesOf) -> None:
    parties = parties_of(7)
    late = parties.roster[2]
    requests = parties.run_until(Round.UPLOAD)
    upload = parties.answer(requests)
    in_time = {name: reply for name, reply in upload.items() if name != late}
    confirm = parties.aggregator.advance(in_time)
    assert late not in confirm
    for refused in (lambda: parties.aggregator.check(late, upload[late]), lambda: parties.aggregator.advance(upload)):
        with pytest.raises(DomainError):
            refused()


def test_a_false_share_among_more_than_t_does_no_harm(parties_of: PartiesOf) -> None:
    parties = parties_of(7)

    def alter(number: int, silo: str, body: bytes) -> bytes:
        return falsified(body) if (number, silo) == (Round.REVEAL, parties.roster[0]) else body

    result = parties.run(silent={parties.roster[3]: Round.UPLOAD}, reply=alter)
    np.testing.assert_array_equal(result.total, parties.total_without(parties.roster[3]))


def test_false_shares_that_cannot_be_told_from_right_ones_end_without_a_sum(parties_of: PartiesOf) -> None:
    parties = parties_of(3)

    def alter(number: int, silo: str, body: bytes) -> bytes:
        return falsified(body) if (number, silo) == (Round.REVEAL, parties.roster[0]) else body

    with pytest.raises(CommitmentBroken, match=rf"\b{parties.roster[0]}\b"):
        parties.run(reply=alter)


def falsified(body: bytes) -> bytes:
    """Every revealed share with its lowest bit turned over."""
    revealed = decode(sums_pb2.Pieces, body)
    for piece in revealed.pieces:
        piece.data = bytes([piece.data[0] ^ 1]) + piece.data[1:]
    return revealed.SerializeToString()


class TestAfterACrash:
    @pytest.mark.parametrize("number", Round)
    def test_silos_go_on_from_what_they_kept_although_one_is_gone(self, parties_of: PartiesOf, number: Round) -> None:
        parties = parties_of(4)
        result = parties.run(restarted=[number], silent={parties.roster[0]: Round.UPLOAD})
        np.testing.assert_array_equal(result.total, parties.total_without(parties.roster[0]))

    def test_no_secret_of_its_own_is_kept_once_the_silo_has_uploaded(self, parties_of: PartiesOf) -> None:
        parties = parties_of(4)
        parties.run_until(Round.CONFIRM)
        memory = decode(masked_pb2.MaskedSiloState, parties.silos[parties.roster[0]].state())
        assert not memory.channel_key
        assert not memory.mask_key
        assert not memory.seed
        assert {piece.silo for piece in memory.held} == set(parties.roster)


class TestOnARandomRing:
    def test_a_hundred_and_fifty_silos_have_their_sum_although_some_fall_silent(self, parties_of: PartiesOf) -> None:
        parties = parties_of(150, ring=RandomRing(correctness_bits=10))
        assert not parties.plan.complete
        assert {len(near) for near in parties.plan.neighbours.values()} == {parties.scheme.ring.shape(150).degree}
        silent = {parties.roster[30 * number + 7]: number for number in Round}
        result = parties.run(silent=silent)
        without = tuple(name for name, number in silent.items() if number in LEFT_OUT)
        np.testing.assert_array_equal(result.total, parties.total_without(*without))

    def test_a_silo_hears_of_its_neighbours_only(self, parties_of: PartiesOf) -> None:
        parties = parties_of(120, ring=RandomRing())
        requests = parties.run_until(Round.SHARE)
        name = parties.roster[5]
        told = decode(sums_pb2.Pieces, decode(sums_pb2.SumMessage, requests[name]).body).pieces
        assert {piece.silo for piece in told} == {name, *parties.plan.neighbours[name]}

    def test_more_silent_silos_than_planned_for_leave_no_sum(self, parties_of: PartiesOf) -> None:
        parties = parties_of(120, ring=RandomRing())
        with pytest.raises(QuorumLost, match=r"113 .* 114 "):
            parties.run(silent=dict.fromkeys(parties.roster[:7], Round.UPLOAD))

    def test_a_silo_with_too_few_neighbours_left_ends_the_session_for_itself(self, parties_of: PartiesOf) -> None:
        parties = parties_of(120, ring=RandomRing())
        name = parties.roster[5]

        def fewer(number: int, silo: str, body: bytes) -> bytes:
            if (number, silo) != (Round.SHARE, name):
                return body
            told = decode(sums_pb2.Pieces, body).pieces
            kept = [piece for piece in told if piece.silo == name]
            kept += [piece for piece in told if piece.silo != name][: parties.plan.threshold - 1]
            return sums_pb2.Pieces(pieces=kept).SerializeToString()

        with pytest.raises(QuorumLost):
            parties.run(tell=fewer)

    def test_below_a_hundred_silos_the_graph_is_complete(self, parties_of: PartiesOf) -> None:
        small, large = parties_of(99, ring=RandomRing()), parties_of(100, ring=RandomRing())
        assert small.plan.complete
        assert small.plan.threshold == 67
        assert not large.plan.complete

    def test_two_sessions_have_different_rings(self, parties_of: PartiesOf) -> None:
        parties = parties_of(120, ring=RandomRing())
        other = parties.scheme.plan(parties.session_of(1))
        assert other.neighbours != parties.plan.neighbours


class TestBadParameters:
    @pytest.mark.parametrize("threshold", [1, 3, 8])
    def test_a_threshold_of_half_or_of_more_than_all_is_not_admitted(self, threshold: int) -> None:
        with pytest.raises(DomainError, match="threshold is"):
            SecAggSum(threshold).admit(IntegerDomain(10, 2**16), 7 if threshold == 8 else 6)

    def test_a_ring_that_cannot_be_is_not_admitted(self) -> None:
        scheme = SecAggPlusConfig(kind="secagg_plus", corrupt=0.33, dropout=0.33).build()
        scheme.admit(RealDomain(10, 1.0), 99)
        with pytest.raises(DomainError, match=r"100 silos .* `kind: secagg`"):
            scheme.admit(RealDomain(10, 1.0), 100)

    @pytest.mark.parametrize("number", [Round.SHARE, Round.REVEAL])
    def test_sealed_and_revealed_shares_of_another_size_are_refused(self, parties_of: PartiesOf, number: Round) -> None:
        parties = parties_of(4)
        requests = parties.run_until(number)
        name = parties.roster[0]
        wrapped = decode(sums_pb2.SumMessage, parties.silos[name].answer(requests[name]))
        kind, field = (secagg_pb2.SecAggShares, "sealed") if number == Round.SHARE else (sums_pb2.Pieces, "pieces")
        message = decode(kind, wrapped.body)
        getattr(message, field)[1].data += b"\0"
        wrapped.body = message.SerializeToString()
        with pytest.raises(MessageError):
            parties.aggregator.check(name, wrapped.SerializeToString())

    def test_shares_sealed_to_others_than_the_neighbours_are_refused(self, parties_of: PartiesOf) -> None:
        parties = parties_of(4)
        requests = parties.run_until(Round.SHARE)
        name = parties.roster[0]
        wrapped = decode(sums_pb2.SumMessage, parties.silos[name].answer(requests[name]))
        shares = decode(secagg_pb2.SecAggShares, wrapped.body)
        shares.sealed[0].silo = shares.sealed[1].silo
        wrapped.body = shares.SerializeToString()
        with pytest.raises(MessageError):
            parties.aggregator.check(name, wrapped.SerializeToString())
