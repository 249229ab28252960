"""One silo in a job of queries: what it reads, what it charges and when, and what it refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.query import NoisyTotal
from siloseal.federation.analytics.releases import AnalyticsRun, next_release, planned_events, shared_noise
from siloseal.federation.analytics.shared_noise import SharedNoise
from siloseal.federation.errors import BudgetExceeded, ConfigError, DataError, WrongRound
from siloseal.federation.privacy.accounting import epsilon_of
from siloseal.federation.privacy.events import SkellamRelease
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.records.identity import Identity
from siloseal.silo.analytics import AnalyticsSilo, guarantee_of
from siloseal.silo.data.tables import Table, read_table

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
IDENTITIES = {name: Identity.create(name) for name in SECTIONS["silos"]["names"]}
RUN = AnalyticsRun(bytes(32), {name: one.public for name, one in IDENTITIES.items()})


def job(**sections: Any) -> AnalyticsJob:
    return AnalyticsJob.model_validate({**SECTIONS, **sections})


def table(folder: Path, text: str = "sex,age\nf,30\nm,40\n") -> Table:
    (folder / "north.csv").write_text(text)
    return read_table(folder / "north.csv")


def silo(folder: Path, asked: AnalyticsJob | None = None, text: str = "sex,age\nf,30\nm,40\n") -> AnalyticsSilo:
    return AnalyticsSilo(
        asked or job(),
        table(folder, text),
        folder,
        identity=IDENTITIES["north"],
        run=RUN,
        randomness=SeededRandomness(0),
    )


@pytest.fixture
def north(tmp_path: Path) -> Iterator[AnalyticsSilo]:
    made = silo(tmp_path)
    yield made
    made.close()


class TestTheLedger:
    def test_is_charged_for_the_fewest_honest_before_anything_leaves(
        self, north: AnalyticsSilo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        charged_when_noised = list[int]()
        drawn = SeededRandomness.bits

        def bits(self: SeededRandomness, count: int) -> bytes:
            charged_when_noised.append(len(north.ledger.charges))
            return drawn(self, count)

        monkeypatch.setattr(SeededRandomness, "bits", bits)
        north.join(0, RUN.progress(0))
        assert charged_when_noised
        assert set(charged_when_noised) == {1}
        event = north.ledger.charges[0].event
        noise = shared_noise(job())
        assert noise.honest == 2  # three must remain, one of them may collude
        assert event == SkellamRelease(2 * noise.counts(job().queries[0].move).noise.variance, 1.0, 1.0)

    def test_all_queries_together_use_the_budget_and_no_more(self, north: AnalyticsSilo) -> None:
        for number in range(2):
            north.join(number, RUN.progress(number))
        assert 1.99 < north.ledger.epsilon <= 2

    def test_a_run_that_cannot_pay_for_all_queries_does_not_begin(self, tmp_path: Path) -> None:
        first = silo(tmp_path)
        first.join(0, RUN.progress(0))
        first.close()
        with pytest.raises(BudgetExceeded, match="another folder"):
            silo(tmp_path)

    def test_a_release_happens_once(self, north: AnalyticsSilo) -> None:
        north.join(0, RUN.progress(0))
        with pytest.raises(WrongRound, match="nothing twice"):
            north.join(0, RUN.progress(0))
        assert len(north.ledger.charges) == 1

    def test_nothing_is_answered_before_a_sum_is_joined(self, north: AnalyticsSilo) -> None:
        with pytest.raises(WrongRound):
            north.answer(b"")

    @pytest.mark.parametrize("kind", ["skellam", "ddg"])
    def test_the_noise_of_every_kind_stays_within_epsilon(self, kind: str) -> None:
        several = [*SECTIONS["queries"], {"kind": "distinct", "column": "x"}, {"kind": "heavy_hitters", "column": "x"}]
        asked = job(mechanism={"kind": kind}, queries=several)
        assert 1.9 < epsilon_of(planned_events(asked, shared_noise(asked)), 1e-5) <= 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("sex,age\n", "holds no records"),
        ("sex,years\nf,30\n", "no column 'age'"),
        ("sex,age\nf,30\nm,SECRET\n", "line 3: the column 'age' does not hold a number"),
        ("sex,age\nf,\n", "line 2: the column 'age'"),
        ("sex,age\nf,nan\n", "line 2: the column 'age'"),
        ("sex,age\nf,1_0\n", "line 2: the column 'age'"),
        ("sex,age\nf,30\nSECRET\n", "line 3: 1 fields, expected 2"),
        ("sex,sex\nf,30\n", "the same name"),
        ("sex,\nf,30\n", "no name"),
        ('sex,age\n"f,30\n', "not a CSV file"),
    ],
)
def test_a_bad_table_is_refused_by_line_and_column_and_its_values_stay_secret(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=words) as refused:
        silo(tmp_path, text=text)
    assert "SECRET" not in str(refused.value)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_byte_order_mark_and_blank_lines_are_no_data(tmp_path: Path) -> None:
    found = table(tmp_path, "\ufeffsex,age\n\nf,30\n\n")
    assert list(found.columns) == ["sex", "age"]
    np.testing.assert_array_equal(found.numbers("age"), [30.0])
    assert "30" not in repr(found)


def test_text_in_another_encoding_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("sex,age\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "x.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "none.csv")


def test_a_silo_larger_than_agreed_or_than_delta_allows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="largest_silo"):
        silo(tmp_path, job(largest_silo=1))
    with pytest.raises(ConfigError, match=r"privacy\.delta"):
        silo(tmp_path, job(privacy={"epsilon": 2, "delta": 0.09}), "sex,age\n" + "f,1\n" * 12)


class TestPersons:
    """All records of a person are protected together, and only the first few count."""

    PERSON: ClassVar[dict[str, Any]] = {"epsilon": 2, "delta": 1e-5, "person": {"column": "patient", "records": 2}}
    LINES = "patient,sex,age\n1,f,30\n2,m,40\n1,f,31\n1,f,32\n3,m,50\n1,f,33\n"

    def test_the_first_records_of_each_count_whoever_else_is_there(self, tmp_path: Path) -> None:
        kept = table(tmp_path, self.LINES).first_of_each("patient", 2)
        assert kept.lines.tolist() == [2, 3, 4, 6]
        without = "".join(line for line in self.LINES.splitlines(keepends=True) if not line.startswith("1,"))
        assert table(tmp_path, without).first_of_each("patient", 2).numbers("age").tolist() == [40, 50]

    def test_a_silo_counts_them_only(self, tmp_path: Path) -> None:
        asked = silo(tmp_path, job(privacy=self.PERSON), self.LINES)
        assert [len(column) for column in asked._columns] == [4, 4]
        asked.close()

    def test_the_noise_is_as_many_times_larger(self) -> None:
        one, two = (
            shared_noise(job(privacy={**self.PERSON, "person": person})) for person in (None, self.PERSON["person"])
        )
        query = job().queries[0]
        assert two.multiplier == pytest.approx(one.multiplier, rel=0.04)
        assert query.mechanism(two).noise.variance == pytest.approx(4 * query.mechanism(one).noise.variance, rel=0.1)
        assert query.mechanism(two).move.l2 == 2 * query.mechanism(one).move.l2

    def test_bits_of_several_cells_cost_what_one_does(self) -> None:
        """The divergences of the cells add up to no more than what is charged."""
        bits = SharedNoise("skellam", 1.5, honest=2, records=4).bits()
        flip = bits.spread(2)
        for alpha in (1.5, 2.0, 8.0, 32.0):
            for one, other in ((0.5, flip), (flip, 0.5)):
                moment = one**alpha * other ** (1 - alpha) + (1 - one) ** alpha * (1 - other) ** (1 - alpha)
                assert 4 * np.log(moment) / (alpha - 1) <= alpha / (2 * bits.multiplier**2) + 1e-12

    def test_the_promise_says_so(self) -> None:
        assert "one person's records in a silo, 2 of which count" in guarantee_of(job(privacy=self.PERSON)).unit


def test_silos_that_were_told_different_totals_are_in_different_sessions() -> None:
    asked = job(queries=[{"kind": "heavy_hitters", "column": "x", "letters": 2}])
    before = RUN.progress(0)
    told = [
        before.after(NoisyTotal(np.array([count] * asked.queries[0].length(before)), 1.0)) for count in (90.0, 91.0)
    ]
    assert len({next_release(asked, RUN, 0, progress).session.digest for progress in told}) == 2
