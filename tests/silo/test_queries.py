"""One silo in a job of queries: what it reads, what it charges and when, and what it refuses."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.guarantee import analytics_guarantee
from siloseal.federation.analytics.query import NoisyTotal
from siloseal.federation.analytics.releases import (
    planned_epsilon,
    progress_of,
    query_release,
    query_releases,
    shared_noise,
    spreads_of,
    start_of,
)
from siloseal.federation.errors import BudgetExceeded, ConfigError, DataError, MessageError, WrongRound
from siloseal.federation.job.releases import Run
from siloseal.federation.privacy.events import DiscreteGaussianRelease, NoisyBitsRelease
from siloseal.federation.privacy.mechanisms.counts import NoisyCounts
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.codec import to_array
from siloseal.runs.analytics import answer_queries
from siloseal.silo.data.tables import Table, read_table
from siloseal.silo.ledger import Ledger, open_ledger
from siloseal.silo.opening import open_query_silo
from siloseal.silo.queries import SiloQueries
from siloseal.silo.runtime import Silo
from siloseal.silo.state import Checkpoint

SECTIONS: dict[str, Any] = {
    "name": "look",
    "data": {"kind": "csv", "folder": "."},
    "silos": {"names": ["north", "east", "south", "west"], "fewest": 3},
    "privacy": {"epsilon": 2, "delta": 1e-5},
    "secure_sum": {"kind": "secagg"},
    "queries": [
        {"kind": "histogram", "column": "sex", "values": ["f", "m"]},
        {"kind": "mean", "column": "age", "low": 0, "high": 100},
    ],
}
NAMES = tuple(SECTIONS["silos"]["names"])
IDENTITIES = {name: Identity.create(name) for name in NAMES}
ROSTER = {name: one.public for name, one in IDENTITIES.items()}
RUN = Run(bytes(32), ROSTER)
TEXT = "sex,age\nf,30\nm,40\n"


def job(**sections: Any) -> AnalyticsJob:
    return AnalyticsJob.model_validate({**SECTIONS, **sections})


def table(folder: Path, text: str = TEXT) -> Table:
    (folder / "north.csv").write_text(text)
    return read_table(folder / "north.csv")


def silo(folder: Path, asked: AnalyticsJob | None = None, text: str = TEXT) -> Silo:
    return open_query_silo(
        asked or job(),
        table(folder, text),
        folder,
        identity=IDENTITIES["north"],
        roster=ROSTER,
        randomness=SeededRandomness(0),
    )


def ran(folder: Path) -> None:
    """All queries among four silos of two records each."""
    tables = dict.fromkeys(NAMES, table(folder))
    answer_queries(job(), tables, folder, lambda name: SeededRandomness(NAMES.index(name)), unheard)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Callable[[], Ledger]]:
    """Opens north's ledger after a run."""
    opened = list[Ledger]()

    def read() -> Ledger:
        found = open_ledger(job(), "north", tmp_path / "silos" / "north", worked_before=True)
        assert found is not None
        opened.append(found)
        return found

    yield read
    for each in opened:
        each.close()


class TestTheLedger:
    def test_is_charged_before_anything_is_noised(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        charged, encode = list[list[int]](), NoisyCounts.encode

        def noised(self: NoisyCounts, *arguments: Any) -> Any:
            ledgers = [tmp_path / "silos" / name / "ledger.jsonl" for name in NAMES]
            charged.append([len(path.read_text().splitlines()) - 1 for path in ledgers])
            return encode(self, *arguments)

        monkeypatch.setattr(NoisyCounts, "encode", noised)
        ran(tmp_path)
        assert charged == [
            [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1],
            [2, 1, 1, 1], [2, 2, 1, 1], [2, 2, 2, 1], [2, 2, 2, 2],
        ], "each pays, and then noises its counts"  # fmt: skip

    def test_is_charged_for_the_fewest_honest(self, tmp_path: Path, ledger: Callable[[], Ledger]) -> None:
        ran(tmp_path)
        noise = shared_noise(job())
        assert noise.honest == 2  # three must remain, one of them may collude
        first = ledger().charges[0]
        variance = noise.counts(job().queries[0].move).noise.variance
        assert first.event == DiscreteGaussianRelease(2, variance, 1.0, 1.0, 3)
        assert first.phase == "1. histogram of sex"

    def test_all_queries_together_use_the_budget_and_no_more(
        self, tmp_path: Path, ledger: Callable[[], Ledger]
    ) -> None:
        ran(tmp_path)
        assert 1.99 < ledger().epsilon <= 2

    def test_a_run_that_cannot_pay_for_all_queries_does_not_begin(self, tmp_path: Path) -> None:
        first, event = silo(tmp_path), query_release(job(), 0, progress_of(RUN, 0)).event
        assert first.ledger is not None
        assert event is not None
        first.ledger.charge(event, phase="something else")
        first.close()
        with pytest.raises(BudgetExceeded):
            silo(tmp_path)

    @pytest.mark.parametrize("kind", ["skellam", "ddg"])
    def test_the_noise_of_every_kind_stays_within_epsilon(self, kind: str) -> None:
        several = [*SECTIONS["queries"], {"kind": "distinct", "column": "x"}, {"kind": "heavy_hitters", "column": "x"}]
        asked = job(mechanism={"kind": kind}, queries=several)
        assert 1.9 < planned_epsilon(asked) <= 2

    def test_every_planned_release_has_a_name_of_its_own(self) -> None:
        asked = job(queries=[*SECTIONS["queries"] * 2, {"kind": "heavy_hitters", "column": "x"}])
        names = [release.entry for release in query_releases(asked)]
        assert len(set(names)) == len(names) == 4 + 8


class Notes:
    """A silo's checkpoints in memory."""

    def __init__(self) -> None:
        self.at = Checkpoint(0, "")

    def save(self, checkpoint: Checkpoint) -> None:
        self.at = checkpoint


PREFIXES = [{"kind": "heavy_hitters", "column": "sex", "alphabet": "fm", "letters": 2}, SECTIONS["queries"][0]]


class TestWhatIsPrepared:
    """Each release once, in the job's order, from totals that fit."""

    @pytest.fixture
    def work(self, tmp_path: Path) -> SiloQueries:
        return SiloQueries(job(queries=PREFIXES), "north", table(tmp_path))

    def ask(self, work: SiloQueries, notes: Notes, number: int, query: int, totals: Sequence[Any] = ()) -> None:
        spread = spreads_of(work._job, query)[0] if totals and query < 2 else 1.0
        messages = [pb.Total(values=to_array(np.asarray(values, dtype="<f8")), spread=spread) for values in totals]
        work.prepare(pb.Request(number=number, query=pb.Query(number=query, totals=messages)), notes, RUN)

    def test_a_release_happens_once_and_in_order(self, work: SiloQueries) -> None:
        notes = Notes()
        self.ask(work, notes, 4, 0)
        self.ask(work, notes, 4, 0)  # the same request again, after a crash
        with pytest.raises(WrongRound):
            self.ask(work, notes, 5, 0)
        self.ask(work, notes, 6, 1)
        with pytest.raises(WrongRound):
            self.ask(work, notes, 7, 0, [[9.0] * 4])

    def test_a_request_that_comes_again_asks_for_the_same(self, work: SiloQueries) -> None:
        notes = Notes()
        self.ask(work, notes, 4, 0)
        with pytest.raises(WrongRound):
            self.ask(work, notes, 4, 1)

    @pytest.mark.parametrize("number", [4, 5], ids=["the same request", "a later request"])
    def test_one_release_is_never_counted_for_two_sets_of_totals(self, work: SiloQueries, number: int) -> None:
        """One charge would pay for both, and the prefixes that are counted follow from the totals."""
        notes, length = Notes(), work._job.queries[0].length(progress_of(RUN, 0))
        self.ask(work, notes, 4, 0, [[90.0] * length])
        prepared = work.vector(notes.at)
        with pytest.raises(WrongRound):
            self.ask(work, notes, number, 0, [[91.0] * length])
        np.testing.assert_array_equal(work.vector(notes.at), prepared)
        self.ask(work, notes, 4, 0, [[90.0] * length])

    def test_a_query_that_the_job_has_not_and_a_release_too_many_are_refused(self, work: SiloQueries) -> None:
        with pytest.raises(WrongRound):
            self.ask(work, Notes(), 4, 2)
        with pytest.raises(WrongRound):
            self.ask(work, Notes(), 4, 1, [[1.0, 1.0, 1.0]])

    @pytest.mark.parametrize("values", [[1.0], [np.nan] * 4, [1.0] * 5, [1e300] * 3])
    def test_totals_that_no_release_can_have_told_are_refused(self, work: SiloQueries, values: list[float]) -> None:
        with pytest.raises(MessageError):
            self.ask(work, Notes(), 4, 0, [values])

    @pytest.mark.parametrize("spread", [0.0, -1.0, 1e308, np.nan, np.inf])
    def test_a_spread_that_no_number_of_silos_gives_is_refused(self, work: SiloQueries, spread: float) -> None:
        length = work._job.queries[0].length(progress_of(RUN, 0))
        total = pb.Total(values=to_array(np.zeros(length)), spread=spread)
        with pytest.raises(MessageError):
            work.prepare(pb.Request(number=4, query=pb.Query(number=0, totals=[total])), Notes(), RUN)

    def test_training_is_refused(self, work: SiloQueries) -> None:
        with pytest.raises(MessageError):
            work.prepare(pb.Request(number=4, train=pb.Train()), Notes(), RUN)

    def test_a_silo_that_was_killed_counts_the_same_again(self, work: SiloQueries, tmp_path: Path) -> None:
        notes, length = Notes(), work._job.queries[0].length(progress_of(RUN, 0))
        self.ask(work, notes, 4, 0, [[90.0] * length])
        again = SiloQueries(work._job, "north", table(tmp_path))
        again.load_state(work.state())
        assert again.release(notes.at) == work.release(notes.at)
        np.testing.assert_array_equal(again.vector(notes.at), work.vector(notes.at))


def test_silos_that_were_shown_different_totals_are_in_different_sessions() -> None:
    asked = job(queries=[{"kind": "heavy_hitters", "column": "x", "letters": 2}])
    before = progress_of(RUN, 0)
    progresses = [
        before.after(NoisyTotal(np.array([count] * asked.queries[0].length(before)), 1.0)) for count in (90.0, 91.0)
    ]
    sessions = {query_release(asked, 0, each).session(RUN, start_of(asked, each)).digest for each in progresses}
    assert len(sessions) == 2


@pytest.mark.parametrize("text", ["sex,SECRET\nf,30\n", "sex,age\nf,30\nm,SECRET\n"], ids=["no column", "no number"])
def test_a_table_that_lacks_what_a_query_asks_for_is_refused_before_there_is_a_ledger(
    text: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="column 'age'") as refused:
        silo(tmp_path, text=text)
    assert "SECRET" not in str(refused.value)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_silo_larger_than_agreed_or_than_delta_allows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="largest_silo"):
        silo(tmp_path, job(largest_silo=1))
    with pytest.raises(ConfigError, match=r"privacy\.delta"):
        silo(tmp_path, job(privacy={"epsilon": 2, "delta": 0.09}), "sex,age\n" + "f,1\n" * 12)


class TestPersons:
    """All records of a person are protected together, and only the first few count."""

    PERSON: ClassVar[dict[str, Any]] = {"epsilon": 2, "delta": 1e-5, "person": {"column": "patient", "records": 2}}
    LINES = "patient,sex,age\n1,f,30\n2,m,40\n1,f,31\n1,f,32\n3,m,50\n1,f,33\n"

    def test_a_silo_counts_them_only(self, tmp_path: Path) -> None:
        asked = SiloQueries(job(privacy=self.PERSON), "north", table(tmp_path, self.LINES))
        assert [len(column) for column in asked._columns] == [4, 4]

    def test_the_noise_is_as_many_times_larger(self) -> None:
        one, two = (
            shared_noise(job(privacy={**self.PERSON, "person": person})) for person in (None, self.PERSON["person"])
        )
        query = job().queries[0]
        assert two.multiplier == pytest.approx(one.multiplier, rel=0.04)
        assert query.mechanism(two).noise.variance == pytest.approx(4 * query.mechanism(one).noise.variance, rel=0.1)
        assert query.mechanism(two).move.l2 == 2 * query.mechanism(one).move.l2

    def test_the_bits_of_all_their_records_are_paid_for(self) -> None:
        query = {"kind": "distinct", "column": "sex", "cells": 64}
        asked = job(privacy=self.PERSON, queries=[query], secure_sum={"kind": "secagg"})
        event = query_release(asked, 0, progress_of(RUN, 0)).event
        assert isinstance(event, NoisyBitsRelease)
        assert event.cells == 2
        assert 1.99 < planned_epsilon(asked) <= 2

    def test_the_guarantee_says_so(self) -> None:
        assert "one person's records in a silo, 2 of which count" in analytics_guarantee(job(privacy=self.PERSON)).unit
