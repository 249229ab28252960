"""The six rounds, with silos that go silent, come back after a crash, and answer falsely."""

from collections.abc import Callable

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
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.statements import Round
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import joint_key_pb2, messages_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode

from .conftest import Parties

PartiesOf = Callable[..., Parties]


def assert_is_sum(result: Sum, parties: Parties, *contributors: str) -> None:
    assert result.contributors == tuple(sorted(contributors))
    assert np.abs(result.total - parties.total(*contributors)).max() <= result.error_bound < 1e-4


@pytest.mark.parametrize("round", [0, 1, 2, 3], ids=["commit_key", "reveal_key", "commit_ciphertext", "upload"])
def test_a_silo_silent_before_its_upload_is_not_in_the_sum(parties: Parties, round: int) -> None:
    assert_is_sum(parties.run(silent={"north": round}), parties, "east", "south", "west")


def test_a_silo_silent_after_its_upload_is_in_the_sum(parties: Parties) -> None:
    assert_is_sum(parties.run(silent={"north": Round.OPEN}), parties, *parties.roster)


@pytest.mark.parametrize("round", range(1, 5))
def test_exactly_t_survivors_recover_the_rest(parties_of: PartiesOf, round: int) -> None:
    parties = parties_of(6, threshold=4, quorum=4)
    silent = {"north": round, "hill": round}
    staying = set(parties.roster) - (set(silent) if round < Round.OPEN else set())
    assert_is_sum(parties.run(silent=silent), parties, *staying)


@pytest.mark.parametrize("round", range(5))
def test_one_survivor_less_than_t_opens_nothing(parties_of: PartiesOf, round: int) -> None:
    parties = parties_of(6, threshold=4, quorum=4)
    with pytest.raises(QuorumLost):
        parties.run(silent={"north": round, "hill": round, "west": round})
    with pytest.raises(WrongRound):  # and there is no second try
        parties.aggregator.advance({})


def test_one_share_less_than_t_in_the_recovery_opens_nothing(parties_of: PartiesOf) -> None:
    for silent_from in (Round.CONFIRM, Round.RECOVER):
        with pytest.raises(QuorumLost):
            parties_of(6, threshold=4, quorum=4).run(
                silent={"north": Round.OPEN, "hill": Round.OPEN, "west": silent_from}
            )


def test_fewer_than_the_quorum_open_nothing_although_t_remain(parties_of: PartiesOf) -> None:
    with pytest.raises(QuorumLost):
        parties_of(6, threshold=4, quorum=5).run(silent={"north": 3, "hill": 3})


def test_a_late_answer_of_a_silo_that_is_being_recovered_is_refused(parties: Parties) -> None:
    """Else the aggregator would hold both its partial decryption and its seed."""
    replies = parties.answer(parties.run_until(Round.OPEN))
    late = replies.pop("north")
    asked = parties.aggregator.advance(replies)
    assert sorted(asked) == ["east", "south", "west"]
    replies = parties.answer(asked)
    with pytest.raises(DomainError):
        parties.aggregator.advance({**replies, "north": late})


def test_a_false_share_is_noticed_and_does_no_harm_where_enough_are_true(parties_of: PartiesOf) -> None:
    def falsify(number: int, silo: str, body: bytes) -> bytes:
        if (number, silo) != (Round.RECOVER, "east"):
            return body
        given = decode(sums_pb2.Pieces, body)
        given.pieces[0].data = bytes(66)
        return given.SerializeToString()

    parties = parties_of(4, quorum=3)
    with pytest.raises(CommitmentBroken):
        parties.run(silent={"north": Round.OPEN}, reply=falsify)
    parties = parties_of(6, threshold=4, quorum=4)  # five survivors, so four of them are true
    assert_is_sum(parties.run(silent={"north": Round.OPEN}, reply=falsify), parties, *parties.roster)


def test_a_false_partial_decryption_gives_no_sum(parties: Parties) -> None:
    def falsify(number: int, silo: str, body: bytes) -> bytes:
        if (number, silo) != (Round.OPEN, "east"):
            return body
        opening = decode(joint_key_pb2.JointKeyOpening, body)
        opened = bytearray(opening.polynomials)
        opened[100] ^= 1
        opening.polynomials = bytes(opened)
        return opening.SerializeToString()

    with pytest.raises(OpeningFailed):
        parties.run(reply=falsify)


def test_values_hidden_behind_the_end_of_the_vector_are_noticed(parties: Parties) -> None:
    parties.silos["east"]._values = np.append(parties.silos["east"]._values, 1)
    with pytest.raises(OpeningFailed):
        parties.run()


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_a_partial_decryption_of_the_wrong_length_is_refused(
    parties: Parties, change: Callable[[bytes], bytes]
) -> None:
    def resize(number: int, silo: str, body: bytes) -> bytes:
        if (number, silo) != (Round.OPEN, "east"):
            return body
        opening = decode(joint_key_pb2.JointKeyOpening, body)
        opening.polynomials = change(opening.polynomials)
        return opening.SerializeToString()

    with pytest.raises(MessageError):
        parties.run(reply=resize)


def test_the_state_holds_the_key_until_the_opening_and_not_after(parties: Parties) -> None:
    parties.run(silent={"north": Round.OPEN})
    memory = decode(joint_key_pb2.JointKeySiloState, parties.states[0]["east"])
    assert len(memory.seed) == 64
    assert len(memory.channel_key) == 32
    held = [(memory.seed in states["east"], memory.channel_key in states["east"]) for states in parties.states]
    assert held == [(True, True)] * 4 + [(False, False)] * 3


def test_the_result_is_the_mean_weighted_by_sizes_that_nobody_sees() -> None:
    sizes = {"east": 120, "north": 7, "south": 990, "west": 431}
    models = {name: np.random.default_rng(number).normal(size=499) for number, name in enumerate(sizes)}
    lengths, domain = list[list[int]](), weighted_domain(499, 8.0)
    assert domain.length == 500
    for weights in (sizes, dict.fromkeys(sizes, 1000)):
        vectors = {name: weigh(models[name], weight=weights[name], largest=1000) for name in weights}
        result = sum_in_process(JointKeySum(precision_bits=20), vectors, domain=domain)
        mean = sum(weights[name] * models[name] for name in weights) / sum(weights.values())
        assert np.abs(mean_of(result.total) - mean).max() < 1e-4
        lengths.append([exchange.sent_bytes for exchange in result.exchanges])
    assert lengths[0] == lengths[1]


def test_two_sums_of_the_same_vectors_share_no_ciphertext(parties_of: PartiesOf) -> None:
    uploads = list[bytes]()
    for seed in (1, 2):
        parties = parties_of(4, seed=seed)
        parties.run()
        uploads += parties.said[Round.UPLOAD].values()
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


@pytest.mark.parametrize("round", range(7))
def test_a_reply_with_more_in_it_than_its_round_has_is_refused_before_anyone_else_gets_it(
    parties: Parties, round: int
) -> None:
    """Unknown fields decode, and signatures do not cover them."""
    junk = messages_pb2.Reply(
        refusal=messages_pb2.Refusal(message="x" * 2000)
    ).SerializeToString()  # a field that no statement has

    def pad(number: int, silo: str, body: bytes) -> bytes:
        return body + junk if (number, silo) == (round, "east") else body

    with pytest.raises(MessageTooLarge):
        parties.run(reply=pad, silent={"north": Round.OPEN} if round > Round.OPEN else {})
