"""The six rounds, with silos that go silent, come back after a crash, and answer falsely."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from siloseal.federation.errors import (
    CommitmentBroken,
    DomainError,
    MessageError,
    MessageTooLarge,
    OpeningFailed,
    QuorumLost,
    WrongRound,
)
from siloseal.federation.job.weighting import mean_of, weigh, weighted_domain
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.statements import CONFIRM, OPEN, RECOVER
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import joint_key_pb2, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode, unwrap, wrap

Table = Any  # of conftest.py
TableOf = Callable[..., Any]


def assert_is_sum(result: Sum | Mapping[str, bytes], table: Table, *contributors: str) -> None:
    assert isinstance(result, Sum)
    assert result.contributors == tuple(sorted(contributors))
    assert np.abs(result.total - table.total(*contributors)).max() <= result.error_bound < 1e-4


@pytest.mark.parametrize("round", [0, 1, 2, 3], ids=["commit_key", "reveal_key", "commit_ciphertext", "upload"])
def test_a_silo_silent_before_its_upload_is_not_in_the_sum(table: Table, round: int) -> None:
    assert_is_sum(table.run(silent={"north": round}), table, "east", "south", "west")


def test_a_silo_silent_after_its_upload_is_in_the_sum(table: Table) -> None:
    assert_is_sum(table.run(silent={"north": OPEN}), table, *table.roster)


@pytest.mark.parametrize("round", range(1, 5))
def test_exactly_t_survivors_recover_the_rest(table_of: TableOf, round: int) -> None:
    table = table_of(6, threshold=4, quorum=4)
    silent = {"north": round, "hill": round}
    staying = set(table.roster) - (set(silent) if round < OPEN else set())
    assert_is_sum(table.run(silent=silent), table, *staying)


@pytest.mark.parametrize("round", range(5))
def test_one_survivor_less_than_t_opens_nothing(table_of: TableOf, round: int) -> None:
    table = table_of(6, threshold=4, quorum=4)
    with pytest.raises(QuorumLost):
        table.run(silent={"north": round, "hill": round, "west": round})
    with pytest.raises(WrongRound):  # and there is no second try
        table.side.advance({})


def test_one_share_less_than_t_in_the_recovery_opens_nothing(table_of: TableOf) -> None:
    for silent_from in (CONFIRM, RECOVER):
        with pytest.raises(QuorumLost):
            table_of(6, threshold=4, quorum=4).run(silent={"north": OPEN, "hill": OPEN, "west": silent_from})


def test_fewer_than_the_quorum_open_nothing_although_t_remain(table_of: TableOf) -> None:
    with pytest.raises(QuorumLost):
        table_of(6, threshold=4, quorum=5).run(silent={"north": 3, "hill": 3})


def test_a_late_answer_of_a_silo_that_is_being_recovered_is_refused(table: Table) -> None:
    """Else the aggregator would hold both its partial decryption and its seed."""
    late = list[bytes]()

    def withhold(number: int, silo: str, reply: bytes) -> bytes:
        if (number, silo) == (OPEN, "north"):
            late.append(reply)
        return reply

    asked = table.run(rounds=4)
    replies = {name: withhold(OPEN, name, table.silos[name].answer(message)) for name, message in asked.items()}
    replies.pop("north")
    asked = table.side.advance(replies)
    assert sorted(asked) == ["east", "south", "west"]
    replies = {name: table.silos[name].answer(message) for name, message in asked.items()}
    with pytest.raises(DomainError, match="not asked"):
        table.side.advance({**replies, "north": late[0]})


def test_a_false_share_is_noticed_and_does_no_harm_where_enough_are_true(table_of: TableOf) -> None:
    def falsify(number: int, silo: str, reply: bytes) -> bytes:
        if (number, silo) != (RECOVER, "east"):
            return reply
        given = decode(sums_pb2.Pieces, unwrap(table.session, round=13, data=reply))
        given.pieces[0].data = bytes(66)
        return wrap(table.session, round=13, body=given.SerializeToString())

    table = table_of(4, quorum=3)
    with pytest.raises(CommitmentBroken, match="false share"):
        table.run(silent={"north": OPEN}, from_silo=falsify)
    table = table_of(6, threshold=4, quorum=4)  # five survivors, so four of them are true
    assert_is_sum(table.run(silent={"north": OPEN}, from_silo=falsify), table, *table.roster)


def test_a_false_partial_decryption_gives_no_sum(table: Table) -> None:
    def falsify(number: int, silo: str, reply: bytes) -> bytes:
        if (number, silo) != (OPEN, "east"):
            return reply
        opening = decode(joint_key_pb2.JointKeyOpening, unwrap(table.session, round=9, data=reply))
        opened = bytearray(opening.polynomials)
        opened[100] ^= 1
        opening.polynomials = bytes(opened)
        return wrap(table.session, round=9, body=opening.SerializeToString())

    with pytest.raises(OpeningFailed):
        table.run(from_silo=falsify)


def test_values_hidden_behind_the_end_of_the_vector_are_noticed(table: Table) -> None:
    table.silos["east"]._values = np.append(table.silos["east"]._values, 1)
    with pytest.raises(OpeningFailed, match="nobody had put any"):
        table.run()


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_a_partial_decryption_of_the_wrong_length_is_refused(table: Table, change: Callable[[bytes], bytes]) -> None:
    def resize(number: int, silo: str, reply: bytes) -> bytes:
        if (number, silo) != (OPEN, "east"):
            return reply
        opening = decode(joint_key_pb2.JointKeyOpening, unwrap(table.session, round=9, data=reply))
        opening.polynomials = change(opening.polynomials)
        return wrap(table.session, round=9, body=opening.SerializeToString())

    with pytest.raises(MessageError):
        table.run(from_silo=resize)


@pytest.mark.parametrize("crash", range(7))
def test_a_silo_that_was_killed_goes_on_from_its_state(table: Table, crash: int) -> None:
    """It is rebuilt from its last state before it answers in round `crash`, with other randomness than before."""

    def restart(number: int, silo: str, message: bytes) -> bytes:
        if number == crash and silo == "east":
            state = table.silos["east"].state()
            table.silos["east"] = table.silo("east", seed=1)
            table.silos["east"].restore(state)
        return message

    assert_is_sum(table.run(silent={"north": OPEN}, to_silo=restart), table, *table.roster)


def test_the_state_holds_the_key_until_the_opening_and_not_after(table: Table) -> None:
    table.run(rounds=1)
    memory = decode(joint_key_pb2.JointKeySiloState, table.silos["east"].state())
    seed, channel = memory.seed, memory.channel_key
    assert len(seed) == 64
    assert len(channel) == 32

    def look(number: int, silo: str, reply: bytes) -> bytes:
        if silo == "east":
            state = table.silos["east"].state()
            held.append((seed in state, channel in state))
        return reply

    held = list[tuple[bool, bool]]()
    fresh = table.silo("east")  # the same randomness again, so the same seed
    table.silos["east"], table.side = fresh, table.scheme.aggregator(table.session)
    table.silos.update({name: table.silo(name) for name in ("north", "south", "west")})
    table.run(silent={"north": OPEN}, from_silo=look)
    assert held == [(True, True)] * 4 + [(False, False)] * 3


def test_a_silo_that_ended_with_a_refusal_stays_ended_after_a_restart(table: Table) -> None:
    table.run(rounds=1)
    with pytest.raises(MessageError):
        table.silos["east"].answer(wrap(table.session, round=2, body=b"\xff"))
    again = table.silo("east")
    again.restore(table.silos["east"].state())
    with pytest.raises(WrongRound):
        again.answer(wrap(table.session, round=2, body=b""))


def test_the_result_is_the_mean_weighted_by_sizes_that_nobody_sees(table_of: TableOf) -> None:
    sizes = {"east": 120, "north": 7, "south": 990, "west": 431}
    models = {name: np.random.default_rng(number).normal(size=499) for number, name in enumerate(sizes)}
    lengths = list[list[int]]()
    for weights in (sizes, dict.fromkeys(sizes, 1000)):
        table = table_of(4)
        table.domain = weighted_domain(499, 8.0)
        assert table.domain.length == 500
        table.vectors = {name: weigh(models[name], weight=weights[name], largest=1000) for name in weights}
        table.session = table.session_of(1)
        table.silos = {name: table.silo(name) for name in table.roster}
        table.side = table.scheme.aggregator(table.session)
        said = list[int]()
        result = table.run(from_silo=lambda number, silo, reply, said=said: said.append(len(reply)) or reply)
        mean = sum(weights[name] * models[name] for name in weights) / sum(weights.values())
        assert np.abs(mean_of(result.total) - mean).max() < 1e-4
        lengths.append(said)
    assert lengths[0] == lengths[1]


def test_two_sums_of_the_same_vectors_share_no_ciphertext(table_of: TableOf) -> None:
    uploads = list[bytes]()
    for seed in (1, 2):
        table = table_of(4)
        table.silos = {name: table.silo(name, seed=seed) for name in table.roster}
        table.run(from_silo=lambda number, silo, reply: uploads.append(reply) or reply if number == 3 else reply)
    halves = [upload[i : i + 32] for upload in uploads for i in range(100, len(upload) - 32, 4096)]
    assert len(set(halves)) == len(halves) > 100


@pytest.mark.parametrize(("silos", "threshold"), [(4, 2), (4, 5), (3, 1), (1, None), (2, 1)])
def test_a_threshold_of_half_or_less_is_not_admitted(silos: int, threshold: int | None) -> None:
    with pytest.raises(DomainError):
        JointKeySum(threshold=threshold).admit(RealDomain(10, 1.0), silos)


@pytest.mark.parametrize(("silos", "threshold"), [(2, 2), (3, 3), (4, 3), (10, 7), (30, 21)])
def test_more_than_two_thirds_are_the_threshold_unless_the_config_says_otherwise(silos: int, threshold: int) -> None:
    described = JointKeySum().describe(RealDomain(1000, 1.0), silos)
    assert described["threshold"].startswith(f"{threshold} of {silos} silos")


def test_a_silo_joins_no_sum_that_one_silo_could_be_alone_in(table_of: TableOf) -> None:
    with pytest.raises(DomainError, match="hides nothing"):
        table_of(4, quorum=1)


def test_a_silo_joins_no_session_with_another_key_as_its_own(table: Table) -> None:
    keys = tuple(reversed([identity.public for identity in table.identities.values()]))
    object.__setattr__(table.session, "identities", keys)
    with pytest.raises(DomainError, match="identity key"):
        table.silo("east")


@pytest.mark.parametrize("round", range(7))
def test_a_reply_with_more_in_it_than_its_round_has_is_refused_before_anyone_else_gets_it(
    table: Table, round: int
) -> None:
    """Unknown fields decode, and signatures do not cover them."""
    junk = pb.Reply(refusal=pb.Refusal(message="x" * 2000)).SerializeToString()  # a field that no statement has

    def pad(number: int, silo: str, reply: bytes) -> bytes:
        if (number, silo) != (round, "east"):
            return reply
        body = unwrap(table.session, round=2 * number + 1, data=reply)
        return wrap(table.session, round=2 * number + 1, body=body + junk)

    with pytest.raises(MessageTooLarge, match="east answered"):
        table.run(from_silo=pad, silent={"north": OPEN} if round > OPEN else {})
