"""A silo draws a nonce, is bound to it, holds everyone else to theirs, and works under the beacon of all of them."""

from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.job.beacon import commit, join_nonces
from siloseal.federation.job.releases import sum_id
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire import sums_pb2
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode
from siloseal.silo.state import SiloState

from .conftest import Bench

OTHER = b"\1" * 32


@pytest.fixture
def fresh(bench: Bench, tmp_path: Path) -> Bench:
    """The silo has enrolled, and nothing else."""
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()
    bench.enrolled = bench.ask(-2, enrol=pb.Enrol()).enrolled
    return bench


@pytest.fixture
def begun(fresh: Bench) -> Bench:
    """The silo has revealed its nonce, and does not know those of the others."""
    fresh.nonce = fresh.ask(-1, begin=fresh.everyone()).begun.nonce
    return fresh


def without(pieces: Any, silo: str) -> list[sums_pb2.Piece]:
    return [piece for piece in pieces if piece.silo != silo]


def id_under(bench: Bench, **replaced: bytes) -> bytes:
    """The id of the sum of phase 1, if some had committed to other nonces and revealed them."""
    said = bench.nonces(**replaced).nonces
    committed = {piece.silo: commit(bench.agreement, piece.silo, piece.data) for piece in said}
    return sum_id(join_nonces(bench.agreement, committed, said), "phase_1", 0)


def test_a_silo_reveals_the_nonce_that_it_has_signed_the_commitment_to(begun: Bench) -> None:
    assert begun.enrolled.commitment == commit(begun.agreement, "north", begun.nonce)
    begun.agreement.check(begun.everyone().agreements, begun.everyone().commitments)
    assert begun.ask(0, nonces=begun.nonces()).WhichOneof("body") == "ready"


def test_two_silos_and_two_runs_have_different_nonces(fresh: Bench, tmp_path: Path) -> None:
    """The bench's randomness is seeded; another seed stands for another draw."""
    first = fresh.enrolled.commitment
    fresh.silo.close()
    fresh.folder = tmp_path / "yet another"
    fresh.silo = fresh.start(seed=7)
    assert fresh.ask(-2, enrol=pb.Enrol()).enrolled.commitment != first


def test_the_nonce_survives_kills_between_all_steps(fresh: Bench) -> None:
    """The restarted silo draws from another seed: what it draws anew would differ."""
    first = fresh.enrolled
    fresh.restart()
    assert fresh.ask(-2, enrol=pb.Enrol()).enrolled == first
    fresh.restart()
    fresh.nonce = fresh.ask(-1, begin=fresh.everyone()).begun.nonce
    assert commit(fresh.agreement, "north", fresh.nonce) == first.commitment
    fresh.restart()
    assert fresh.ask(-1, begin=fresh.everyone()).begun.nonce == fresh.nonce
    fresh.restart()
    assert fresh.ask(0, nonces=fresh.nonces(east=OTHER)).refusal.code == ErrorCode.COMMITMENT_BROKEN
    assert fresh.ask(0, nonces=fresh.nonces()).WhichOneof("body") == "ready"
    fresh.restart()
    assert fresh.train(1).WhichOneof("body") == "prepared"
    fresh.restart()
    assert fresh.sum(2, fresh.session()).sum, "the beacon is the one of these nonces"


def test_a_kill_before_the_reply_is_stored_leaves_the_silo_free_to_draw_again(bench: Bench, tmp_path: Path) -> None:
    """Nothing had left: nobody has seen a commitment."""
    bench.silo.close()
    bench.folder = tmp_path / "another"
    bench.silo = bench.start()
    bench.killed_before_the_reply(bench.request(-2, enrol=pb.Enrol()))
    bench.enrol()
    assert commit(bench.agreement, "north", bench.nonce) == bench.enrolled.commitment


@pytest.mark.parametrize("silo", ["north", "east"])
def test_a_commitment_that_its_silo_did_not_sign_gets_no_nonce(fresh: Bench, silo: str) -> None:
    everyone = fresh.everyone()
    for piece in everyone.commitments:
        if piece.silo == silo:
            piece.data = commit(fresh.agreement, silo, OTHER)
    reply = fresh.ask(-1, begin=everyone)
    assert (reply.refusal.code, reply.begun.nonce) == (ErrorCode.SIGNATURE_INVALID, b"")
    assert fresh.ask(-1, begin=fresh.everyone()).begun.nonce


def test_an_older_commitment_of_the_silo_itself_gets_no_nonce(fresh: Bench) -> None:
    """It signed it in the same run, before its folder was lost: everyone may know that nonce by now."""
    everyone = fresh.everyone()
    for pieces, data in (
        (everyone.commitments, older := commit(fresh.agreement, "north", OTHER)),
        (everyone.agreements, fresh.agreement.sign(fresh.identities["north"], older)),
    ):
        for piece in pieces:
            if piece.silo == "north":
                piece.data = data
    fresh.agreement.check(everyone.agreements, everyone.commitments)
    reply = fresh.ask(-1, begin=everyone)
    assert (reply.refusal.code, reply.begun.nonce) == (ErrorCode.COMMITMENT_BROKEN, b"")
    assert fresh.ask(-1, begin=fresh.everyone()).begun.nonce


def test_a_silo_that_is_left_out_of_the_commitments_gets_no_nonce(fresh: Bench) -> None:
    everyone = fresh.everyone()
    left = pb.Begin(agreements=everyone.agreements, commitments=without(everyone.commitments, "east"))
    assert fresh.ask(-1, begin=left).refusal.code == ErrorCode.WRONG_CONTRIBUTORS


def test_the_nonce_is_revealed_for_one_set_of_commitments_only(begun: Bench) -> None:
    """East works for the aggregator and signs a second commitment, once it knows everyone's nonce."""
    assert begun.ask(-1, begin=begun.everyone(east=OTHER)).refusal.code == ErrorCode.WRONG_ROUND
    assert begun.ask(0, nonces=begun.nonces(east=OTHER)).refusal.code == ErrorCode.COMMITMENT_BROKEN
    begun.restart()
    assert begun.ask(0, nonces=begun.nonces(east=OTHER)).refusal.code == ErrorCode.COMMITMENT_BROKEN
    assert begun.ask(0, nonces=begun.nonces()).WhichOneof("body") == "ready"


@pytest.mark.parametrize("silo", ["north", "east", "south"])
def test_a_false_nonce_of_anyone_is_refused_and_the_right_ones_are_heard_after_it(begun: Bench, silo: str) -> None:
    assert begun.ask(0, nonces=begun.nonces(**{silo: OTHER})).refusal.code == ErrorCode.COMMITMENT_BROKEN
    assert begun.ask(0, nonces=begun.nonces()).WhichOneof("body") == "ready"


def test_nonces_without_those_of_a_silo_or_with_those_of_a_stranger_are_refused(begun: Bench) -> None:
    for said in (without(begun.nonces().nonces, "south"), begun.nonces(west=OTHER).nonces, []):
        assert begun.ask(0, nonces=pb.Nonces(nonces=said)).refusal.code == ErrorCode.WRONG_CONTRIBUTORS


def test_nothing_is_prepared_or_summed_before_the_nonces_are_known(begun: Bench) -> None:
    session = begun.session()
    for number in (0, 1, 2):
        assert begun.train(number).refusal.code == ErrorCode.WRONG_ROUND
        assert begun.ask(number, kernel_mean=pb.KernelMean()).refusal.code == ErrorCode.WRONG_ROUND
        assert begun.sum(number, session).refusal.code == ErrorCode.WRONG_ROUND
    assert begun.silo.ledger.charges == []


@pytest.mark.parametrize("silo", ["north", "east", "south"])
def test_a_sum_under_another_beacon_is_refused(begun: Bench, silo: str) -> None:
    """An aggregator that showed another silo other nonces asks for two sessions: each silo joins its own."""
    assert begun.ask(0, nonces=begun.nonces()).WhichOneof("body") == "ready"
    assert begun.train(1).WhichOneof("body") == "prepared"
    mine = begun.session()
    assert begun.session(id=id_under(begun)) == mine
    assert begun.sum(2, begun.session(id=id_under(begun, **{silo: OTHER}))).refusal.code == ErrorCode.SESSION_MISMATCH
    assert begun.sum(2, mine).sum


def test_what_is_kept_once_the_beacon_is_known_is_the_beacon(bench: Bench) -> None:
    kept = SiloState(bench.folder).load_reply().draw
    assert (len(kept.beacon), kept.nonce, list(kept.commitments)) == (32, b"", [])
    bench.train(1)
    assert SiloState(bench.folder).load_reply().draw == kept
    assert decode(pb.Reply, SiloState(bench.folder).load_reply().reply).WhichOneof("body") == "prepared"
