"""Each release that costs something is paid for once, wherever its silo is killed: in training, and in queries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import progress_of, query_release, start_of
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.releases import Lengths, release_of
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import decode
from siloseal.silo.data.tables import read_table
from siloseal.silo.ledger import Ledger
from siloseal.silo.state import Checkpoint, SiloState

from .conftest import ROSTER, Bench, Enrolled, Killed, QueryBench

HISTOGRAM = {"kind": "histogram", "column": "sex", "values": ["f", "m"]}
QUERIES = {
    "name": "look",
    "data": {"kind": "csv", "folder": "."},
    "silos": {"names": list(ROSTER)},
    "privacy": {"epsilon": 2, "delta": 1e-5},
    "secure_sum": {"kind": "secagg"},
    "queries": [HISTOGRAM, HISTOGRAM],
}


@dataclass
class Step:
    """One release of a silo: the request that prepares it, the one that opens its sum, and its name in the ledger."""

    prepare: bytes
    open: bytes
    phase: str


@dataclass
class Paying:
    """A silo with two releases that cost the same event, so that the charge for one could pass for the other's."""

    bench: Enrolled
    steps: tuple[Step, Step]

    def answer(self, request: bytes) -> str | None:
        return decode(pb.Reply, self.bench.silo.answer(request)).WhichOneof("body")

    def up_to_the_second_sum(self) -> bytes:
        """Make the first release, prepare the second, and return the request that opens its sum."""
        first, second = self.steps
        assert [self.answer(request) for request in (first.prepare, first.open, second.prepare)] == [
            "prepared",
            "sum",
            "prepared",
        ]
        return second.open

    def require_paid_once(self) -> None:
        assert [charge.phase for charge in self.bench.charges()] == [step.phase for step in self.steps]
        assert len({charge.event for charge in self.bench.charges()}) == 1


def training(bench: Bench) -> Paying:
    def step(number: int, phase: Phase, turn: int) -> Step:
        release = release_of(bench.job, Lengths(0, bench.model.size), phase, turn)
        return Step(
            prepare=bench.train_request(number, phase, turn),
            open=bench.sum_request(number + 1, release, bench.started_from),
            phase=phase,
        )

    return Paying(bench, (step(1, Phase.PHASE_1, 0), step(3, Phase.PHASE_2, 1)))


def queries(bench: QueryBench) -> Paying:
    def step(number: int, query: int) -> Step:
        progress = progress_of(bench.run, query)
        release = query_release(bench.job, query, progress)
        return Step(
            prepare=bench.request(number, query=pb.Query(number=query)),
            open=bench.sum_request(number + 1, release, start_of(bench.job, progress)),
            phase=release.phase,
        )

    return Paying(bench, (step(1, 0), step(3, 1)))


@pytest.fixture(params=["training", "queries"])
def paying(request: pytest.FixtureRequest, bench_of: Callable[..., Bench], tmp_path: Path) -> Iterator[Paying]:
    if request.param == "training":
        privacy = {"kind": "silo_level", "epsilon": 8, "delta": 1e-4, "clip_norm": 0.5}
        yield training(bench_of(privacy=privacy, mechanism={"kind": "gaussian_local"}))
        return
    (tmp_path / "north.csv").write_text("sex\nf\nm\n")
    bench = QueryBench(AnalyticsJob.model_validate(QUERIES), read_table(tmp_path / "north.csv"), tmp_path / "silo")
    yield queries(bench)
    bench.silo.close()


def die_in_note(monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """The silo dies when it is about to write its next note on the checkpoint but `at`."""
    note, calls = SiloState.note, [0]

    def dying(self: SiloState, checkpoint: Checkpoint) -> None:
        if calls[0] == at:
            monkeypatch.setattr(SiloState, "note", note)
            raise Killed
        calls[0] += 1
        note(self, checkpoint)

    monkeypatch.setattr(SiloState, "note", dying)


@pytest.mark.parametrize("at", [0, 1], ids=["before the charge", "between the charge and the note that says so"])
def test_a_silo_that_dies_when_it_joins_a_sum_pays_once(
    paying: Paying, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    request = paying.up_to_the_second_sum()
    die_in_note(monkeypatch, at=at)
    with pytest.raises(Killed):
        paying.bench.silo.answer(request)
    paying.bench.restart()
    assert len(paying.bench.charges()) == 1 + at
    assert paying.answer(request) == "sum"
    paying.require_paid_once()


def test_a_silo_that_dies_between_naming_the_sum_and_paying_for_it_pays_later(
    paying: Paying, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = paying.up_to_the_second_sum()

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "charge", die)
        with pytest.raises(Killed):
            paying.bench.silo.answer(request)
    paying.bench.restart()
    assert paying.answer(request) == "sum"
    paying.require_paid_once()


def test_a_silo_that_dies_between_the_charge_and_the_reply_pays_once(paying: Paying) -> None:
    request = paying.up_to_the_second_sum()
    paying.bench.killed_before_the_reply(request)
    assert len(paying.bench.charges()) == 2
    assert paying.answer(request) == "sum"
    paying.require_paid_once()


def test_a_reply_that_was_stored_is_sent_again_and_costs_nothing(paying: Paying) -> None:
    request = paying.up_to_the_second_sum()
    first = paying.bench.silo.answer(request)
    paying.bench.restart()
    assert paying.bench.silo.answer(request) == first
    paying.require_paid_once()
