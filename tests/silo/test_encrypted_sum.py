"""One silo's runtime in an encrypted sum: what it keeps, what a full disk or an old file does, what it never repeats."""

import errno
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from federation.ckks.ckks_sum import CkksSum
from federation.contributions import model_domain
from federation.errors import RunError
from federation.randomness import SeededRandomness
from federation.secure_sum import Sum
from federation.session import Session
from federation.weighting import mean_of
from federation.wire import messages_pb2 as pb
from federation.wire.codec import decode, unwrap, wrap

Bench = Any  # of conftest.py
OPEN = 4


class Table:
    """`north` is a whole silo; the other two are bare sides of the sum that contribute nothing but weight."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.train(1)
        scheme, domain = CkksSum(), model_domain(bench.job, bench.model.size)
        roster = tuple(bench.keys)
        self.session = Session(bytes(32), roster, domain, scheme.name, 3, tuple(bench.keys.values()))
        vector = np.zeros(domain.length)
        self.others = {
            name: scheme.silo(self.session, bench.identities[name], vector, SeededRandomness(number))
            for number, name in enumerate(roster)
            if name != "north"
        }
        self.side = scheme.aggregator(self.session)

    def request(self, round: int, message: bytes) -> bytes:
        return self.bench.request(2 + round, sum=pb.Sum(session=self.session.to_wire(), message=message))

    def run(self, ask: Callable[[int, bytes], bytes], rounds: int = 5) -> Sum | Mapping[str, bytes]:
        """`ask` brings the round's request to `north` and returns its reply."""
        step = self.side.open()
        for number in range(rounds):
            replies = {name: side.answer(step[name]) for name, side in self.others.items()}
            replies["north"] = decode(pb.Reply, ask(number, self.request(number, step["north"]))).sum
            step = self.side.advance(replies)
        return step


@pytest.fixture
def table(bench_of: Callable[..., Bench]) -> Table:
    return Table(bench_of(secure_sum={"kind": "ckks"}))


def test_a_sum_goes_through_the_runtime_and_a_lost_reply_is_sent_again(table: Table) -> None:
    def twice(number: int, request: bytes) -> bytes:
        first = table.bench.silo.answer(request)
        table.bench.restart()
        assert table.bench.silo.answer(request) == first
        return first

    result = table.run(twice)
    assert isinstance(result, Sum)
    assert np.abs(mean_of(result.total) - table.bench.model).max() < 1


@pytest.mark.parametrize("full_at", range(5))
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

    assert isinstance(table.run(ask), Sum)


def test_an_old_copy_of_the_last_reply_is_noticed(table: Table) -> None:
    """With it the silo would open a second time, under other flooding."""
    reply, copies = table.bench.folder / "reply.bin", dict[int, bytes]()

    def ask(number: int, request: bytes) -> bytes:
        copies[number] = reply.read_bytes()
        return table.bench.silo.answer(request)

    assert isinstance(table.run(ask), Sum)
    reply.write_bytes(copies[OPEN])
    with pytest.raises(RunError, match="does not fit"):
        table.bench.restart()


@pytest.mark.parametrize("content", [b"\xff\xfe\x80", b"xx", None], ids=["no text", "no number", "removed"])
def test_a_damaged_count_of_replies_is_noticed(table: Table, content: bytes | None) -> None:
    answered = table.bench.folder / "answered"
    assert answered.exists()
    answered.unlink()
    if content is not None:
        answered.write_bytes(content)
    with pytest.raises(RunError, match="damaged, removed or put back"):
        table.bench.restart()


@pytest.mark.parametrize("round", [1, 2, 3, OPEN])
def test_a_session_that_ended_with_a_refusal_stays_ended_after_a_restart(table: Table, round: int) -> None:
    def ask(number: int, request: bytes) -> bytes:
        return table.bench.silo.answer(request)

    right = table.run(ask, rounds=round)["north"]
    lie = decode(pb.Pieces, unwrap(table.session, round=2 * round, data=right))
    del lie.pieces[0]
    wrong = wrap(table.session, round=2 * round, body=lie.SerializeToString())
    refused = decode(pb.Reply, table.bench.silo.answer(table.request(round, wrong)))
    assert refused.refusal.error in ("QuorumLost", "WrongContributors")
    table.bench.restart()
    again = decode(pb.Reply, table.bench.silo.answer(table.request(round, right)))
    assert again.refusal.error == "WrongRound"


def test_the_key_is_on_the_disk_until_the_opening_readable_by_the_silo_alone_and_gone_after(table: Table) -> None:
    folder, seeds = table.bench.folder, list[bytes]()

    def ask(number: int, request: bytes) -> bytes:
        reply = table.bench.silo.answer(request)
        kept = [file for file in folder.rglob("*") if file.is_file()]
        if number == 0:
            seeds.append(decode(pb.CkksSiloState, table.bench.silo._state.load_reply().side).seed)
            assert len(seeds[0]) == 64
        holding = [file.name for file in kept if seeds[0] in file.read_bytes()]
        assert holding == (["reply.bin"] if number < OPEN else [])
        assert all(file.stat().st_mode & 0o077 == 0 for file in kept)
        return reply

    assert isinstance(table.run(ask), Sum)


def test_an_enrolled_silo_never_says_how_many_steps_it_took(table: Table) -> None:
    """In FedAvg that would tell how many examples it has."""
    assert {field.name for field in pb.Prepared.DESCRIPTOR.fields} == {"stopped_by_budget", "epsilon_spent"}
    ledger = table.bench.silo.ledger
    assert ledger is not None
    told, budget = ledger.spent_roughly(), ledger.budget.epsilon
    assert told * 20 / budget == round(told * 20 / budget), "the exact number would tell the sampling rate"
    assert ledger.epsilon <= told <= ledger.epsilon + budget / 20
