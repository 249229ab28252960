"""One silo's runtime in a sum that hides: what it keeps, what a full disk or an old file does, what it never repeats."""

import errno
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from siloseal.federation.errors import RunError
from siloseal.federation.job.weighting import mean_of, weighted_domain
from siloseal.federation.privacy.accounting import renyi_epsilon_of
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.sums.secure_sum import Sum
from siloseal.federation.sums.session import Session
from siloseal.federation.transport.wire import joint_key_pb2, masked_pb2, ring_pb2, sums_pb2
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.federation.transport.wire.errors_pb2 import ErrorCode

from .conftest import Bench

ASKED = {"ckks": range(5), "ckks_joint_key": range(5), "secagg": range(5), "additive": range(3), "ring": (0, 1, 4)}
"""The rounds that ask `north`, which is the first on the ring."""
KEYS_GONE = {"ckks": 2, "ckks_joint_key": 4, "secagg": 2, "additive": 2, "ring": 4}
"""The round whose reply needs the silo's own keys last: they are gone from the disk when it leaves."""
EVERY_ROUND = [(kind, number) for kind, numbers in ASKED.items() for number in numbers]
SURVIVORS = (("secagg", 3), ("ckks", 3))
"""The rounds that say with a bit a silo who is there, and not with a piece of each."""


class Table:
    """`north` is a whole silo; the other two are bare sides of the sum that contribute nothing, with no weight."""

    def __init__(self, bench: Bench, kind: str) -> None:
        self.bench, self.kind = bench, kind
        bench.train(1)
        scheme, domain = bench.job.secure_sum.build(), weighted_domain(bench.model.size, bench.job.largest_weight)
        roster = tuple(bench.keys)
        self.session = Session(
            bench.sum_id("phase_1"), roster, domain, scheme.name, 3, tuple(bench.keys.values()), bench.started_from
        )
        vector = np.zeros(domain.length)
        self.others = {
            name: scheme.silo(self.session, bench.identities[name], vector, SeededRandomness(number))
            for number, name in enumerate(roster)
            if name != "north"
        }
        self.side = scheme.aggregator(self.session)

    def request(self, round: int, message: bytes) -> bytes:
        return self.bench.request(2 + round, sum=pb.Sum(session=self.session.to_wire(), message=message))

    def run(self, ask: Callable[[int, bytes], bytes], *, until: int | None = None) -> Sum | Mapping[str, bytes]:
        """`ask` brings a round's request to `north` and returns its reply. The sum, or the messages of a round."""
        step: Mapping[str, bytes] | Sum = self.side.open()
        number = 0
        while not isinstance(step, Sum) and number != until:
            replies = {name: self.others[name].answer(message) for name, message in step.items() if name != "north"}
            if "north" in step:
                replies["north"] = decode(pb.Reply, ask(number, self.request(number, step["north"]))).sum
            step = self.side.advance(replies)
            number += 1
        return step

    def answer(self, number: int, request: bytes) -> bytes:
        return self.bench.silo.answer(request)

    def require_right(self, result: Sum | Mapping[str, bytes]) -> None:
        """The mean is what north has learnt, because the others have no weight, and not what it learnt from."""
        assert isinstance(result, Sum)
        learnt = self.bench.silo.work._learner.vector().numpy()
        assert np.abs(mean_of(result.total) - learnt).max() < 1e-3 < np.abs(self.bench.model - learnt).max()

    def memory(self) -> joint_key_pb2.JointKeySiloState | masked_pb2.MaskedSiloState:
        """What the silo keeps of the sum on its disk."""
        return decode(
            joint_key_pb2.JointKeySiloState if self.kind == "ckks_joint_key" else masked_pb2.MaskedSiloState,
            self.bench.silo._state.load_reply().side,
        )


@pytest.fixture(params=list(ASKED))
def table(request: pytest.FixtureRequest, bench_of: Callable[..., Bench]) -> Table:
    return Table(bench_of(secure_sum={"kind": request.param}), request.param)


def test_a_sum_goes_through_the_runtime_and_a_lost_reply_is_sent_again(table: Table) -> None:
    def twice(number: int, request: bytes) -> bytes:
        first = table.bench.silo.answer(request)
        table.bench.restart()
        assert table.bench.silo.answer(request) == first
        return first

    table.require_right(table.run(twice))


@pytest.mark.parametrize(("table", "full_at"), EVERY_ROUND, indirect=["table"])
def test_a_full_disk_costs_nothing_but_the_reply(table: Table, monkeypatch: pytest.MonkeyPatch, full_at: int) -> None:
    def ask(number: int, request: bytes) -> bytes:
        if number == full_at:

            def full(*_: object) -> None:
                raise OSError(errno.ENOSPC, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(table.bench.silo._state, "save_reply", full)
                with pytest.raises(OSError, match="No space"):
                    table.bench.silo.answer(request)
        return table.bench.silo.answer(request)

    table.require_right(table.run(ask))


def test_an_old_copy_of_the_last_reply_is_noticed(table: Table) -> None:
    """With it the silo would upload a second time under the same masks, or reveal its other share."""
    reply, copies = table.bench.folder / "reply.bin", list[bytes]()

    def ask(number: int, request: bytes) -> bytes:
        copies.append(reply.read_bytes())
        return table.bench.silo.answer(request)

    assert isinstance(table.run(ask), Sum)
    reply.write_bytes(copies[-1])
    with pytest.raises(RunError, match=r"reply\.bin .*/answered"):
        table.bench.restart()


@pytest.mark.parametrize("table", ["ckks"], indirect=True)
@pytest.mark.parametrize("content", [b"\xff\xfe\x80", b"xx", None], ids=["no text", "no number", "removed"])
def test_a_damaged_count_of_replies_is_noticed(table: Table, content: bytes | None) -> None:
    answered = table.bench.folder / "answered"
    assert answered.exists()
    answered.unlink()
    if content is not None:
        answered.write_bytes(content)
    with pytest.raises(RunError, match=r"reply\.bin .*/answered"):
        table.bench.restart()


@pytest.mark.parametrize(("table", "round"), [case for case in EVERY_ROUND if case[1]], indirect=["table"])
def test_a_session_that_ended_with_a_refusal_stays_ended_after_a_restart(table: Table, round: int) -> None:
    right = table.run(table.answer, until=round)["north"]
    refused = decode(pb.Reply, table.bench.silo.answer(table.request(round, lie(table.kind, round, right))))
    assert refused.refusal.code in (ErrorCode.QUORUM_LOST, ErrorCode.WRONG_CONTRIBUTORS, ErrorCode.SEAL_BROKEN)
    table.bench.restart()
    again = decode(pb.Reply, table.bench.silo.answer(table.request(round, right)))
    assert again.refusal.code == ErrorCode.WRONG_ROUND


def lie(kind: str, round: int, message: bytes) -> bytes:
    """The same message with one silo fewer than there were; or a total that nobody sealed."""
    wrong = decode(sums_pb2.SumMessage, message)
    if kind == "ring":
        turn = decode(ring_pb2.RingTurn, wrong.body)
        if turn.total:
            turn.total = bytes(len(turn.total))
        else:
            turn.advertised = without_one(turn.advertised)
        wrong.body = turn.SerializeToString()
    elif (kind, round) in SURVIVORS:
        bits = wrong.body[0]
        wrong.body = bytes([bits & (bits - 1)])
    else:
        wrong.body = without_one(wrong.body)
    return wrong.SerializeToString()


def without_one(body: bytes) -> bytes:
    said = decode(sums_pb2.Pieces, body)
    del said.pieces[0]
    return said.SerializeToString()


def test_keys_are_on_the_disk_as_long_as_they_are_needed_readable_by_the_silo_alone_and_gone_after(
    table: Table,
) -> None:
    """A silo that is killed again and again, with other randomness after it, goes on with those that it drew first."""
    keys = set[bytes]()

    def ask(number: int, request: bytes) -> bytes:
        reply = table.bench.silo.answer(request)
        memory = table.memory()
        keys.update({memory.seed, memory.channel_key, getattr(memory, "mask_key", b"")} - {b""})
        kept = [file for file in table.bench.folder.rglob("*") if file.is_file()]
        holding = {file.name for file in kept if any(key in file.read_bytes() for key in keys)}
        assert holding == ({"reply.bin"} if number < KEYS_GONE[table.kind] else set())
        assert all(file.stat().st_mode & 0o077 == 0 for file in kept)
        table.bench.restart()
        return reply

    table.require_right(table.run(ask))
    drawn = {
        "ckks": [32, 32, 32],
        "ckks_joint_key": [32, 64],
        "secagg": [32, 32, 32],
        "additive": [32],
        "ring": [32, 32],
    }
    assert sorted(map(len, keys)) == drawn[table.kind], "each is drawn once"
    left = [field.name for field, _ in table.memory().ListFields()]
    assert table.kind == "ckks_joint_key" or left == ["answered"], "of what other silos entrusted to it neither"


@pytest.mark.parametrize("table", ["ckks"], indirect=True)
def test_an_enrolled_silo_never_says_how_many_steps_it_took(table: Table) -> None:
    """In FedAvg that would tell how many examples it has."""
    assert {field.name for field in pb.Prepared.DESCRIPTOR.fields} == {
        "stopped_by_budget",
        "epsilon_spent",
        "structure",
        "leaves",
    }
    ledger = table.bench.silo.ledger
    assert ledger is not None
    shown, budget = ledger.spent_roughly(), ledger.budget.epsilon
    assert shown * 20 / budget == round(shown * 20 / budget), "the exact number would tell the sampling rate"
    renyi = renyi_epsilon_of([charge.event for charge in ledger.charges], ledger.budget.delta)
    assert ledger.epsilon <= shown <= renyi + budget / 20
