"""`siloseal analytics` from a config to its answers, over real sums."""

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from siloseal.cli.app import main
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.config.loading import load_config, to_yaml
from siloseal.federation.errors import ConfigError, QuorumLost, RunError
from siloseal.federation.randomness import SeededRandomness
from siloseal.federation.run_events.stream import unheard
from siloseal.federation.transport.engine import LocalEngine
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.report.run_report import write_report
from siloseal.run_folder.run import read_run
from siloseal.runs.analytics import answer_queries, read_tables, run_analytics
from siloseal.runs.closing import check_ledgers

ROOT = Path(__file__).parents[3]
NAMES = ["north", "east", "south", "west"]
SECTIONS: dict[str, Any] = {
    "name": "look",
    "silos": {"names": NAMES, "fewest": 3},
    "privacy": {"epsilon": 8, "delta": 1e-5},
    "secure_sum": {"kind": "secagg"},
    "queries": [
        {"kind": "histogram", "column": "sex", "values": ["f", "m"]},
        {"kind": "mean", "column": "age", "low": 0, "high": 100},
        {"kind": "quantiles", "column": "age", "low": 0, "high": 100, "depth": 5},
        {"kind": "heavy_hitters", "column": "medicine", "letters": 3},
        {"kind": "distinct", "column": "patient", "cells": 1024},
    ],
}


def seeded(name: str) -> SeededRandomness:
    return SeededRandomness(NAMES.index(name))


@pytest.fixture
def look(tmp_path: Path) -> AnalyticsJob:
    lines = [f"{n},{20 + n % 60},{'fm'[n % 2]},{'aspirin' if n % 3 else 'insulin'}" for n in range(600)]
    (tmp_path / "all.csv").write_text("patient,age,sex,medicine\n" + "\n".join(lines))
    return AnalyticsJob.model_validate({**SECTIONS, "data": {"kind": "csv", "file": str(tmp_path / "all.csv")}})


@pytest.mark.parametrize("kind", ["secagg", "additive"])
def test_all_queries_end_to_end(look: AnalyticsJob, tmp_path: Path, kind: str) -> None:
    job = AnalyticsJob.model_validate({**look.model_dump(mode="json"), "secure_sum": {"kind": kind}})
    found, folder = run_analytics(job, tmp_path / "run", randomness_of=seeded)
    answers = {one.query: {each.name: each for each in one.estimates} for one in found.answers}
    assert answers["histogram of sex"]["f"].value == pytest.approx(300, abs=30)
    assert answers["mean of age"]["mean"].value == pytest.approx(49.5, abs=5)
    assert answers["quantiles of age"]["0.5"].low <= 49 <= answers["quantiles of age"]["0.5"].high
    assert set(answers["frequent values of medicine"]) == {"asp…", "ins…"}
    assert "distinct values of patient" in answers
    assert found.epsilon <= 8
    assert "one record (add/remove)" in found.guarantee
    assert f"{job.honest} honest" in found.guarantee
    assert {path.name for path in (folder / "silos" / "north").iterdir()} >= {"identity.key", "ledger.jsonl"}


def test_a_second_run_shows_the_same_and_releases_nothing(look: AnalyticsJob, tmp_path: Path) -> None:
    first, folder = run_analytics(look, tmp_path / "run")
    ledger = folder / "silos" / "north" / "ledger.jsonl"
    before = ledger.read_bytes()
    again, _ = run_analytics(look, tmp_path / "run")
    assert again == first
    assert ledger.read_bytes() == before


class Killed(BaseException):
    """No error that anything handles."""


class DyingEngine(LocalEngine):
    """Delivers a number of requests, and dies in the next one, which some silos have answered."""

    requests, answered = 0, 0

    def ask(self, requests: Any, **options: Any) -> None:
        if DyingEngine.requests == 0:
            first = dict(list(requests.items())[: DyingEngine.answered])
            super().ask(first, **{**options, "accept": lambda *_: None})
            raise Killed
        DyingEngine.requests -= 1
        super().ask(requests, **options)


@pytest.mark.parametrize(("requests", "answered"), [(1, 2), (3, 4), (4, 0), (4, 4), (5, 2), (6, 4), (8, 2), (13, 2)])
def test_a_run_that_dies_goes_on_and_pays_for_nothing_twice(
    look: AnalyticsJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: int, answered: int
) -> None:
    """It dies at enrolment, in a preparation, or in a round of a sum; some silos have worked, and paid, by then."""
    job = look.model_copy(update={"queries": (look.queries[0], look.queries[3])})
    DyingEngine.requests, DyingEngine.answered = requests, answered
    with monkeypatch.context() as patched:
        patched.setattr("siloseal.runs.simulation.LocalEngine", DyingEngine)
        with pytest.raises(Killed):
            run_analytics(job, tmp_path / "run", randomness_of=seeded)
    found, folder = run_analytics(job, tmp_path / "run", randomness_of=seeded)
    assert [answer.query for answer in found.answers] == [query.title for query in job.queries]
    for name in NAMES:
        lines = [json.loads(line) for line in (folder / "silos" / name / "ledger.jsonl").read_text().splitlines()[1:]]
        phases = [line["phase"] for line in lines]
        assert len(set(phases)) == len(phases), "each release is paid for once"
    assert found.epsilon <= 8


def test_a_run_whose_answers_were_lost_makes_them_again_and_releases_nothing(
    look: AnalyticsJob, tmp_path: Path
) -> None:
    first, folder = run_analytics(look, tmp_path / "run")
    before = (folder / "silos" / "north" / "ledger.jsonl").read_bytes()
    (folder / "answers.json").unlink()
    again, _ = run_analytics(look, folder)
    assert again == first
    assert (folder / "silos" / "north" / "ledger.jsonl").read_bytes() == before


def test_a_folder_of_another_job_is_left_alone(look: AnalyticsJob, tmp_path: Path) -> None:
    run_analytics(look, tmp_path / "run")
    with pytest.raises(RunError, match=str(tmp_path / "run")):
        run_analytics(look.model_copy(update={"name": "other"}), tmp_path / "run")


def test_a_run_has_the_files_of_every_run_and_a_report_with_its_answers(look: AnalyticsJob, tmp_path: Path) -> None:
    found, folder = run_analytics(look, tmp_path / "run")
    run = read_run(folder)
    assert run.summary.answers == found.answers
    assert (run.summary.epsilon, run.summary.delta) == (found.epsilon, found.delta)
    assert {silo.examples for silo in run.summary.silos} == {150}
    assert all(upload.hidden_from_aggregator for upload in run.protection)
    stages = [f"{number}. {query.title}" for number, query in enumerate(look.queries, start=1)]
    assert list(dict.fromkeys(metric.stage for metric in run.traffic)) == ["enrolment", *stages]
    assert write_report(folder).read_text().count("95 % interval") >= len(stages)
    check_ledgers(folder)


def test_two_queries_of_one_title_are_told_apart(look: AnalyticsJob, tmp_path: Path) -> None:
    job = look.model_copy(update={"queries": look.queries[:1] * 2})
    _, folder = run_analytics(job, tmp_path / "run")
    stages = {metric.stage for metric in read_run(folder).traffic}
    assert stages == {"enrolment", "1. histogram of sex", "2. histogram of sex"}


def test_a_job_of_the_same_name_has_the_next_folder_and_the_same_job_finds_its_own(
    look: AnalyticsJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (look.model_copy(update={"queries": (query,)}) for query in look.queries[:2])
    folders = [run_analytics(job, None)[1].name for job in (first, second, first, second)]
    assert folders == ["look", "look-2", "look", "look-2"]


class SilentEngine(LocalEngine):
    """Some silos have enrolled and prepared, and say nothing in sums."""

    silent: ClassVar[tuple[str, ...]] = ()

    def ask(self, requests: Any, *, fewest: int, **options: Any) -> None:
        in_sum = pb.Request.FromString(next(iter(requests.values()))).WhichOneof("body") == "sum"
        answering = {name: sent for name, sent in requests.items() if not in_sum or name not in self.silent}
        super().ask(answering, fewest=fewest, **options)


@pytest.mark.parametrize(("silent", "enough"), [(1, True), (2, False)])
def test_silos_may_fall_silent_down_to_the_quorum(
    look: AnalyticsJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: int, enough: bool
) -> None:
    job = look.model_copy(update={"queries": look.queries[:1]})
    monkeypatch.setattr("siloseal.runs.simulation.LocalEngine", SilentEngine)
    monkeypatch.setattr(SilentEngine, "silent", tuple(NAMES[:silent]))
    if enough:
        outcome = answer_queries(job, read_tables(job), tmp_path, seeded, unheard)
        assert len(outcome.result.answers) == 1
        assert any("stayed silent" in note for note in outcome.notes)
    else:
        with pytest.raises(QuorumLost):
            answer_queries(job, read_tables(job), tmp_path, seeded, unheard)


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"secure_sum": {"kind": "plain"}}, r"secure_sum\.kind is plain"),
        ({"mechanism": {"colluding": 3}}, r"mechanism\.colluding is 3"),
        (
            {"secure_sum": {"kind": "ckks"}, "queries": [{"kind": "distinct", "column": "town"}]},
            r"secure_sum\.kind is 'ckks'.* modulo 2",
        ),
        ({"secure_sum": {"kind": "ring"}, "mechanism": {"colluding": 2}}, r"mechanism\.colluding is 2, .*ring"),
        ({"silos": {"names": NAMES, "fewest": 5}}, r"silos\.fewest"),
        ({"data": {"kind": "csv"}}, r"data\.csv"),
        ({"queries": [{"kind": "mean", "column": "x", "low": 1, "high": 1}]}, r"queries\.0\.mean"),
        ({"queries": [{"kind": "distinct", "column": "x", "cells": 1000}]}, "1024"),
        ({"queries": []}, "queries"),
    ],
)
def test_a_job_that_protects_nobody_or_means_nothing_is_refused(
    look: AnalyticsJob, tmp_path: Path, sections: dict[str, Any], words: str
) -> None:
    import yaml

    (tmp_path / "job.yaml").write_text(yaml.safe_dump({**look.model_dump(mode="json"), **sections}))
    with pytest.raises(ConfigError, match=words):
        load_config(AnalyticsJob, tmp_path / "job.yaml")


def test_the_command_prints_one_document_or_tables(
    look: AnalyticsJob, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.yaml").write_text(to_yaml(look))
    monkeypatch.chdir(tmp_path)
    shown = list[str]()
    for arguments in (["--json"], []):
        monkeypatch.setattr(sys, "argv", ["siloseal", "analytics", "job.yaml", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        shown.append(capsys.readouterr().out)
    assert json.loads(shown[0])["answers"][0]["query"] == "histogram of sex"
    assert "95 % interval" in shown[1]
    assert "differential privacy" in shown[1]


@pytest.mark.parametrize("name", ["analytics.yaml", "analytics-csv.yaml"])
def test_the_shipped_configs_are_jobs(name: str) -> None:
    assert load_config(AnalyticsJob, ROOT / "configs" / name).queries
