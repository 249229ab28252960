"""The plan: tasks beside examples where tasks are what is counted, and by which sum each phase travels."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from siloseal.federation.job.job import Job
from siloseal.federation.job.phase_sums import phase_sum
from siloseal.federation.job.phases import Phase
from siloseal.federation.job.planning import SiloPlan
from siloseal.federation.privacy.epsilon import epsilon_text
from siloseal.federation.privacy.guarantee import for_one_example
from siloseal.run_folder.metrics import METRIC, phase_title
from siloseal.run_folder.summary import UNBOUNDED
from siloseal.runs.plan import Plan, SiloCost, SumCost, make_plan
from siloseal.runs.plan_table import as_document
from siloseal.runs.simulation import deal
from siloseal.silo.allowance import cost_of_one_example
from siloseal.silo.data.loading import load

FEW_SHOT = {"data": {"kind": "strokes"}, "evaluation": {"silo_alone": False}, "privacy": {"kind": "none"}}


def row(job: Job) -> tuple[str, str]:
    """The head of the silos' table, and north's line."""
    cost = SiloCost("north", 1600, 1053, SiloPlan(0.25, None, {"phase_1": 30}), None)
    plan = Plan([cost], None, 28_064, {}, {}, 10**6, {"phase_1": 2.0}, [], job)
    lines = [" ".join(line.split()) for line in str(plan).splitlines()]
    return next(line for line in lines if "silo ┃" in line), next(line for line in lines if "north" in line)


def test_tasks_stand_beside_examples(small_job: Callable[..., Job]) -> None:
    job = small_job(learner={"kind": "protonet"}, **FEW_SHOT)
    head, north = row(job)
    assert head == "┃ silo ┃ examples ┃ tasks ┃ sampling rate ┃ step noise ┃"
    assert north == "│ north │ 1,600 │ 1,053 │ 0.2500 │ none │"


def test_a_sum_under_one_key_is_warned_of_and_its_time_is_counted(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(secure_sum={"kind": "ckks_one_key"})
    monkeypatch.setattr("siloseal.runs.plan._sum_cost", lambda *sizes: SumCost(1, 1, seconds=1e6))
    plan = make_plan(job, deal(job, load(job.data)[0]), workers=2)
    output = " ".join(str(plan).split())
    assert "ckks_one_key is a baseline" in output
    assert plan.seconds["phase_1"] > 1e5, "far more than its training takes on any machine"


def planned(job: Job, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose sums are not tried out."""
    monkeypatch.setattr("siloseal.runs.plan._sum_cost", lambda *sizes: SumCost(1, 1, seconds=1.0))
    return make_plan(job, deal(job, load(job.data)[0]), workers=2)


def test_the_plan_says_by_which_sum_each_phase_travels_and_what_the_aggregator_learns(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siloseal.report.terminal.TEXT_COLUMNS", 300)
    job = small_job(secure_sum={"kind": "secagg"})
    lines = [" ".join(line.split()) for line in str(planned(job, monkeypatch)).splitlines()]
    for phase in Phase.PHASE_1, Phase.PHASE_2:
        sum_of_phase = phase_sum(job, phase).config
        (line,) = [line for line in lines if line.startswith(f"│ {phase_title(phase)} │") and "silo │" in line]
        assert f"│ {sum_of_phase.kind} │" in line
        assert sum_of_phase.build().exposure.aggregator_learns in line


def test_the_plan_for_programs_has_the_uploads_that_a_run_records(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = small_job(secure_sum={"kind": "secagg"})
    plan = planned(job, monkeypatch)
    shown = json.loads(json.dumps(as_document(plan)))["uploads"]
    assert [METRIC.validate_python(upload) for upload in shown] == plan.uploads
    assert [upload["stage"] for upload in shown if not upload["hidden_from_aggregator"]] == ["phase_2"]


@pytest.mark.parametrize("sections", [{}, {"learner": {"kind": "embedding"}, **FEW_SHOT}])
def test_a_job_without_tasks_has_no_column_for_them(small_job: Callable[..., Job], sections: dict[str, Any]) -> None:
    head, north = row(small_job(**sections))
    assert head == "┃ silo ┃ examples ┃ sampling rate ┃ step noise ┃"
    assert north == "│ north │ 1,600 │ 0.2500 │ none │"


def words_of(plan: Plan) -> str:
    return " ".join(str(plan).split())


TASKS = {"learner": {"kind": "protonet"}, "data": {"kind": "strokes"}, "evaluation": {"silo_alone": True}}


@pytest.mark.parametrize(
    ("sections", "unit"),
    [
        ({"privacy": {"kind": "task_level", "epsilon": 4, "delta": 1e-5}, **TASKS}, "one training task"),
        ({"privacy": {"kind": "silo_level", "epsilon": 4, "delta": 1e-5}, "mechanism": {"kind": "gaussian_local"}},
         "one silo's whole contribution"),
    ],
)  # fmt: skip
def test_what_one_example_costs_is_said_as_a_policy_counts_it_where_the_unit_is_another(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, sections: dict[str, Any], unit: str
) -> None:
    plan = planned(job := small_job(**sections), monkeypatch)
    costs = [[event for events in silo.plan.events().values() for event in events] for silo in plan.silos]
    most = max(cost_of_one_example(job, events).epsilon(1e-5) for events in costs)
    assert 1.5 * 4 < most < 3 * 4
    assert for_one_example(most, 1e-5) in words_of(plan)
    shown = json.loads(json.dumps(as_document(plan)))
    assert (shown["delta"], shown["relation"], shown["epsilon_of_one_example"]) == (1e-5, "zero-out", most)
    assert shown["unit"].startswith(unit)
    twice = (pytest.approx(8, abs=0.02), 2e-5) if job.evaluation.silo_alone else (None, None)
    assert (shown.get("epsilon_with_silos_alone"), shown.get("delta_with_silos_alone")) == twice


def test_an_example_that_is_the_unit_has_no_second_number(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(small_job(), monkeypatch)
    assert plan.epsilon_of_one_example is None
    assert as_document(plan)["epsilon_of_one_example"] is None
    assert "policies count" not in words_of(plan)
    open_plan = planned(small_job(privacy={"kind": "none"}), monkeypatch)
    assert open_plan.epsilon_of_one_example is None
    assert "delta" not in as_document(open_plan)


def test_what_nothing_bounds_is_said_in_words_and_is_one_for_programs(small_job: Callable[..., Job]) -> None:
    silo_level = {"kind": "silo_level", "epsilon": 4, "delta": 1e-5}
    job = small_job(privacy=silo_level, mechanism={"kind": "gaussian_local"})
    cost = SiloCost("north", 100, 100, SiloPlan(0.25, None, {"phase_1": 30}), {"total": 4.0}, math.inf)
    plan = Plan([cost], None, 28_064, {}, {}, 10**6, {"phase_1": 2.0}, [], job)
    assert "policies count it: nothing bounds it" in words_of(plan)
    shown = json.loads(json.dumps(as_document(plan), allow_nan=False))
    assert shown["epsilon_of_one_example"] == UNBOUNDED
    assert shown["silos"][0]["epsilon_of_one_example"] == UNBOUNDED


def test_training_once_more_for_comparison_is_no_phase_and_says_what_it_spends(small_job: Callable[..., Job]) -> None:
    cost = SiloCost("north", 100, 100, SiloPlan(0.25, None, {"phase_1": 30}), {"total": 9.998}, epsilon_alone=9.998)
    seconds = {"phase_1": 60.0, "silo_alone": 120.0, "pooled": 180.0}
    shown = str(Plan([cost], None, 28_064, {"phase_1": 4}, {"phase_1": 4}, 10**6, seconds, [], small_job()))
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert [line for line in lines if line.startswith("│ Phase 1")] == [
        "│ Phase 1 │ 30 │ 4 bytes │ 4 bytes │ 1 min 00 s │"
    ]
    assert not [line for line in lines if line.startswith(("│ Silo alone", "│ Pooled"))]
    text = " ".join(lines)
    assert "time about 1 min 00 s on this machine" in text
    assert "epsilon 20.00 at delta 2e-5 for one example" in text, "the job's 10, twice"
    assert re.search(r"about 2 min 00 s more [^;]*\(evaluation.silo_alone\)", text)
    assert re.search(r"about 3 min 00 s more [^;]*, without privacy,", text)
    private = small_job(privacy={"kind": "none"})
    assert "Training silos alone" not in str(Plan([cost], None, 28_064, {}, {}, 10**6, seconds, [], private))


@pytest.mark.parametrize("privacy", [{"noise_multiplier": 100}, {"reserve_steps": 200}], ids=["fixed", "reserved"])
def test_silos_alone_spend_what_is_planned_and_not_the_budget(
    small_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, privacy: dict[str, Any]
) -> None:
    job = small_job(
        privacy={"kind": "example_level", "epsilon": 6, "delta": 1e-5, **privacy}, evaluation={"silo_alone": True}
    )
    plan = planned(job, monkeypatch)
    both = [cost.epsilon["total"] + cost.epsilon_alone for cost in plan.silos if cost.epsilon and cost.epsilon_alone]
    assert len(both) == len(plan.silos)
    assert max(both) < 2 * 6 * 0.98
    assert as_document(plan)["epsilon_with_silos_alone"] == max(both)
    assert f"epsilon {epsilon_text(max(both))} at delta 2e-5" in words_of(plan)
    assert ("200 steps are held in reserve for crashes, up to epsilon 6" in words_of(plan)) is (
        "reserve_steps" in privacy
    )
