"""A job of queries between processes: the same runtime, journal, policy, ledger, audit log and report as training."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from siloseal.cli.app import app
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import planned_epsilon
from siloseal.run_folder.run import read_run

from .conftest import NAMES, POLICY, Consortium
from .evidence import audit_lines

ALLOWED = {**POLICY, "queries": ["histogram", "heavy_hitters"]}
SECTIONS: dict[str, Any] = {
    "name": "wards",
    "data": {"kind": "at_silos"},
    "silos": {"names": list(NAMES)},
    "privacy": {"epsilon": 8, "delta": 1e-5},
    "secure_sum": {"kind": "secagg"},
    "queries": [
        {"kind": "histogram", "column": "sex", "values": ["f", "m"]},
        {"kind": "heavy_hitters", "column": "ward", "letters": 2},
    ],
}
RECORDS = 300


def write_table(path: Path) -> dict[str, Any]:
    rows = [f"{'fm'[n % 2]},{'icu' if n % 3 else 'er'}" for n in range(RECORDS)]
    path.write_text("sex,ward\n" + "\n".join(rows) + "\n")
    return {"kind": "csv", "file": str(path)}


@pytest.fixture
def wards(tmp_path: Path) -> Iterator[Consortium]:
    data = {name: write_table(tmp_path / f"{name}.csv") for name in NAMES}
    consortium = Consortium(tmp_path / "wards", AnalyticsJob.model_validate(SECTIONS), data=data, policy=ALLOWED)
    yield consortium
    consortium.stop()


def charged(consortium: Consortium, silo: str) -> list[str]:
    lines = (consortium.run_folder(silo) / "ledger.jsonl").read_text().splitlines()[1:]
    return [json.loads(line)["phase"] for line in lines]


def finish(consortium: Consortium) -> dict[str, Any]:
    """Everyone ends well; the content of answers.json."""
    assert [party.wait() for party in consortium.parties] == [0] * len(consortium.parties)
    answers: dict[str, Any] = json.loads((consortium.state("aggregator") / "answers.json").read_text())
    return answers


def test_queries_are_answered_and_everyone_who_is_killed_goes_on_and_pays_once(wards: Consortium) -> None:
    north = wards.silos["north"]
    for party in wards.parties:
        party.impatient = True
    # The silo has paid when it answers the first message of a sum, and its reply has not left.
    killed = north.restart_at(lambda event: event["event"] == "answers" and event["what"] == "sum")
    killed_there = wards.aggregator.restart_at(lambda event: event["event"] == "query" and event["done"] == 1)
    wards.start()
    wards.aggregator.wait_for("finished")
    north.wait_for("leaves")
    found = finish(wards)
    assert (len(killed), len(killed_there)) == (1, 1)
    counts = {each["name"]: each["value"] for each in found["answers"][0]["estimates"]}
    assert counts["f"] == pytest.approx(RECORDS * len(NAMES) / 2, abs=60)
    releases = ["1. histogram of sex", *(f"2. frequent values of ward, release {n}" for n in (1, 2))]
    for silo in NAMES:
        assert charged(wards, silo) == releases


def test_a_run_of_queries_leaves_the_files_that_training_leaves(wards: Consortium) -> None:
    wards.start()
    found = finish(wards)
    state = wards.state("aggregator")
    run = read_run(state)
    assert run.summary.answers is not None
    assert [answer.model_dump(mode="json") for answer in run.summary.answers] == found["answers"]
    assert run.summary.epsilon == pytest.approx(planned_epsilon(AnalyticsJob.model_validate(SECTIONS)))
    assert all(silo.examples is None for silo in run.summary.silos), "how many records a silo has is not known here"
    assert "histogram of sex" in (state / "report.html").read_text()
    assert {line["stage"] for line in audit_lines(wards, "aggregator", "stage")} == {
        "1. histogram of sex",
        "2. frequent values of ward",
    }
    for party in ("aggregator", *NAMES):
        log = wards.state(party) / "audit.jsonl"
        assert CliRunner().invoke(app, ["audit", "verify", str(log)]).exit_code == 0


@pytest.mark.parametrize(
    ("policy", "key"), [(POLICY, "queries"), ({**ALLOWED, "largest_epsilon": 7}, "largest_epsilon")]
)
def test_a_silo_whose_policy_does_not_allow_the_queries_refuses_before_it_counts(
    tmp_path: Path, policy: dict[str, Any], key: str
) -> None:
    data = {name: write_table(tmp_path / f"{name}.csv") for name in NAMES}
    consortium = Consortium(tmp_path / "wards", AnalyticsJob.model_validate(SECTIONS), data=data, policy=policy)
    try:
        consortium.silos["north"].start()
        assert consortium.aggregator.start().wait() == 1
        assert f"policy.{key}" in consortium.aggregator.wait_for("error")["words"]
        assert not list(consortium.state("north").glob("runs/*/ledger.jsonl"))
    finally:
        consortium.stop()
