"""The plan: tasks beside examples where tasks are what is counted, and by which sum each phase travels."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from siloseal.cli.plan_table import print_plan
from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.planning import SiloPlan
from siloseal.run_folder.metrics import METRIC, phase_title
from siloseal.runs.plan import Plan, SiloCost, SumCost, make_plan
from siloseal.runs.simulation import deal
from siloseal.silo.data.loading import load

FEW_SHOT = {"data": {"kind": "strokes"}, "evaluation": {"silo_alone": False}, "privacy": {"kind": "none"}}


def row(job: Job, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The head of the silos' table, and north's line."""
    cost = SiloCost("north", 1600, 1053, SiloPlan(0.25, None, {"phase_1": 30}), None)
    print_plan(job, Plan([cost], None, 28_064, {}, {}, 10**6, {"phase_1": 2.0}, []), as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    return next(line for line in lines if "silo ┃" in line), next(line for line in lines if "north" in line)


def test_tasks_stand_beside_examples(small_job: Callable[..., Job], capsys: pytest.CaptureFixture[str]) -> None:
    job = small_job(learner={"kind": "protonet"}, **FEW_SHOT)
    head, north = row(job, capsys)
    assert head == "┃ silo ┃ examples ┃ tasks ┃ sampling rate ┃ step noise ┃"
    assert north == "│ north │ 1,600 │ 1,053 │ 0.2500 │ none │"


def test_a_sum_under_one_key_is_warned_of_and_its_time_is_counted(
    small_job: Callable[..., Job], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(secure_sum={"kind": "ckks_one_key"})
    monkeypatch.setattr("siloseal.runs.plan._sum_cost", lambda *sizes: SumCost(1, 1, seconds=1e6))
    plan = make_plan(job, deal(job, load(job.data)[0]), workers=2)
    print_plan(job, plan, as_json=False)
    output = " ".join(capsys.readouterr().out.split())
    assert "ckks_one_key is a baseline" in output
    assert plan.seconds["phase_1"] > 1e5, "far more than its training takes on any machine"


def planned(job: Job, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose sums are not tried out."""
    monkeypatch.setattr("siloseal.runs.plan._sum_cost", lambda *sizes: SumCost(1, 1, seconds=1.0))
    return make_plan(job, deal(job, load(job.data)[0]), workers=2)


def test_the_plan_says_by_which_sum_each_phase_travels_and_what_the_aggregator_learns(
    small_job: Callable[..., Job], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    job = small_job(secure_sum={"kind": "secagg"})
    print_plan(job, planned(job, monkeypatch), as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for phase in Phase.PHASE_1, Phase.PHASE_2:
        sum_of_phase = phase_sum(job, phase).config
        (line,) = [line for line in lines if line.startswith(f"│ {phase_title(phase)} │") and "silo │" in line]
        assert f"│ {sum_of_phase.kind} │" in line
        assert sum_of_phase.build().exposure.aggregator_learns in line


def test_the_plan_for_programs_has_the_uploads_that_a_run_records(
    small_job: Callable[..., Job], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(secure_sum={"kind": "secagg"})
    plan = planned(job, monkeypatch)
    print_plan(job, plan, as_json=True)
    shown = json.loads(capsys.readouterr().out)["uploads"]
    assert [METRIC.validate_python(upload) for upload in shown] == plan.uploads
    assert [upload["stage"] for upload in shown if not upload["hidden_from_aggregator"]] == ["phase_2"]


@pytest.mark.parametrize("sections", [{}, {"learner": {"kind": "embedding"}, **FEW_SHOT}])
def test_a_job_without_tasks_has_no_column_for_them(
    small_job: Callable[..., Job], capsys: pytest.CaptureFixture[str], sections: dict[str, Any]
) -> None:
    head, north = row(small_job(**sections), capsys)
    assert head == "┃ silo ┃ examples ┃ sampling rate ┃ step noise ┃"
    assert north == "│ north │ 1,600 │ 0.2500 │ none │"
