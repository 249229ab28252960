"""Few-shot jobs from config to report, on the embedded characters: seconds, real sums, real ledgers."""

import html
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from siloseal import load_job, plan
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.gan import GanConfig
from siloseal.federation.job.sections.privacy import TaskLevel
from siloseal.federation.job.weighting import weighted_domain
from siloseal.federation.privacy.events import SampledGaussianSteps
from siloseal.federation.privacy.guarantee import Guarantee, for_one_example
from siloseal.models.meta.building import build_few_shot_model
from siloseal.models.model_files import read_few_shot_model
from siloseal.report.result_table import footer
from siloseal.run_folder.run import read_run
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.closing import check_ledgers
from siloseal.runs.run import run_job
from siloseal.runs.scoring import build_scorer
from siloseal.silo.data.loading import load
from siloseal.silo.data.units import count_units
from siloseal.silo.ledger import Budget, Ledger

FEW_SHOT: dict[str, Any] = {
    "name": "few-shot",
    "seed": 1,
    "data": {"kind": "strokes", "characters": 24, "held_out_characters": 8, "side": 16},
    "silos": {"names": ["north", "east"], "partition": {"kind": "disjoint_classes"}},
    "learner": {"kind": "embedding", "network": "wavelets"},
    "optimizer": {"kind": "dp_adam", "learning_rate": 1e-2, "first_decay": 0.9},
    "privacy": {"kind": "example_level", "epsilon": 8, "delta": 1e-4},
    "warm_start": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 60, "local_steps": 20, "tuning_rounds": 1, "tuning_steps": 5},
    "secure_sum": {"kind": "additive"},
    "evaluation": {"shots": [1, 5], "queries": 10, "episodes": 100},
}
CHANCE = 0.2


def run(folder: Path, **sections: Any) -> RunSummary:
    return run_job(Job.model_validate({**FEW_SHOT, **sections}), folder)


def beats_chance_by_three_sigma(summary: RunSummary) -> bool:
    final = next(score for score in summary.scores if score.stage == "final")
    return all(
        value - CHANCE > 3 * final.margin[measure] / 1.96 and final.margin[measure] > 0
        for measure, value in final.accuracy.items()
    )


@pytest.fixture(scope="module")
def example_level(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunSummary]:
    folder = tmp_path_factory.mktemp("few_shot") / "run"
    evaluation = {**FEW_SHOT["evaluation"], "silo_alone": True, "pooled": True}
    return folder, run(folder, evaluation=evaluation, largest_silo=300)  # which all silos together exceed


class TestExampleLevel:
    def test_it_beats_chance_by_three_sigma_within_its_budget(self, example_level: tuple[Path, RunSummary]) -> None:
        folder, summary = example_level
        assert beats_chance_by_three_sigma(summary)
        assert summary.epsilon is not None
        assert 7.5 < summary.epsilon <= 8
        assert summary.parameters["unit of privacy"] == "one example"
        for silo in summary.silos:
            with Ledger(
                folder / "silos" / silo.name / "ledger.jsonl", silo=silo.name, budget=Budget(8, 1e-4)
            ) as ledger:
                assert ledger.epsilon == silo.epsilon
                steps = [charge.event for charge in ledger.charges]
            assert all(isinstance(event, SampledGaussianSteps) for event in steps)
            assert sum(event.steps for event in steps) == 25  # type: ignore[union-attr]
            assert {event.sampling_rate for event in steps} == {60 / silo.examples}  # type: ignore[union-attr]

    def test_everything_is_measured_that_the_table_compares(self, example_level: tuple[Path, RunSummary]) -> None:
        folder, summary = example_level
        measured = {(score.stage, score.silo) for score in summary.scores}
        of_silos = {(stage, silo) for stage in ("silo_trained", "silo_alone") for silo in ("north", "east")}
        stages = ("warm_start", "phase_1", "round_1", "final", "pooled")
        assert measured == of_silos | {(stage, None) for stage in stages}
        assert all(set(score.accuracy) == {"5-way 1-shot", "5-way 5-shot"} for score in summary.scores)
        assert read_run(folder).summary == summary
        assert "5-way 5-shot" in (folder / "report.html").read_text()

    def test_pooled_training_has_everybodys_images_and_no_noise(self, example_level: tuple[Path, RunSummary]) -> None:
        folder, _ = example_level
        assert not (folder / "pooled" / "silos" / "pooled" / "ledger.jsonl").exists()
        assert (folder / "alone" / "north" / "silos" / "north" / "ledger.jsonl").exists()  # which does pay

    def test_silos_hold_disjoint_classes_and_none_of_the_tests(self, example_level: tuple[Path, RunSummary]) -> None:
        _, summary = example_level
        north, east = (set(silo.labels) for silo in summary.silos)
        assert not north & east
        assert len(north | east) == 24

    def test_the_model_file_learns_tasks(self, example_level: tuple[Path, RunSummary]) -> None:
        assert read_few_shot_model(example_level[0] / "global.safetensors").shape == (1, 16, 16)


def assert_one_example_costs_what_the_plan_said(folder: Path) -> None:
    """Summary, terminal, report and each silo's line have the plan's number, with its delta."""
    job = load_job(folder / "config.yaml")
    run, planned = read_run(folder), plan(job)
    assert run.summary.epsilon_of_one_example == planned.epsilon_of_one_example is not None
    assert isinstance(job.privacy, TaskLevel)
    for silo, cost in zip(run.summary.silos, planned.silos, strict=True):
        assert silo.epsilon_of_one_example == cost.epsilon_of_one_example is not None
        assert for_one_example(cost.epsilon_of_one_example, job.privacy.delta)[1:] in silo.statement
    words = for_one_example(planned.epsilon_of_one_example, job.privacy.delta)
    assert words in footer(run)
    assert words[1:] in html.unescape((folder / "report.html").read_text())


def test_task_level_counts_tasks_and_says_so(tmp_path: Path) -> None:
    summary = run(
        tmp_path / "run",
        learner={"kind": "protonet", "network": "wavelets", "ways": 4, "shots": 1, "queries": 3},
        privacy={"kind": "task_level", "epsilon": 10, "delta": 1e-3},
        schedule={"kind": "two_phase", "batch": 4, "local_steps": 6, "tuning_rounds": 1, "tuning_steps": 2},
    )
    assert beats_chance_by_three_sigma(summary)
    assert summary.epsilon is not None
    assert summary.epsilon <= 10
    assert "task" in summary.parameters["unit of privacy"]
    assert_one_example_costs_what_the_plan_said(tmp_path / "run")
    for silo in summary.silos:
        assert silo.tasks == 240 // 16  # 12 characters of 20 drawings each, 4 x 4 to a task
        assert "task" in silo.statement
        path, guarantee = tmp_path / "run" / "silos" / silo.name / "ledger.jsonl", Guarantee(TaskLevel.unit, "")
        with Ledger(path, silo=silo.name, budget=Budget(10, 1e-3), guarantee=guarantee) as ledger:
            rates = {charge.event.sampling_rate for charge in ledger.charges}  # type: ignore[union-attr]
        assert rates == {4 / 15}
    check_ledgers(tmp_path / "run")


@pytest.mark.parametrize("kind", ["protonet", "meta_lstm", pytest.param("reptile", marks=pytest.mark.slow)])
def test_training_teaches_more_than_the_start_knew(kind: str, tmp_path: Path) -> None:
    """Convolutions that nobody trained beat chance by themselves, so chance alone is no test of learning."""
    inner_loop = {} if kind == "protonet" else {"inner_steps": 3}
    summary = run(
        tmp_path / "run",
        learner={"kind": kind, "filters": 16, "episodes": "fresh", "queries": 10, **inner_loop},
        privacy={"kind": "none"},
        optimizer={"kind": "dp_adam", "learning_rate": 5e-3, "first_decay": 0.9},
        schedule={"kind": "two_phase", "batch": 4, "local_steps": 20, "tuning_rounds": 1, "tuning_steps": 5},
        evaluation={"shots": [1], "queries": 10, "episodes": 80},
    )
    assert beats_chance_by_three_sigma(summary)
    scores = {score.stage: score for score in summary.scores}
    gain = scores["final"].accuracy["5-way 1-shot"] - scores["warm_start"].accuracy["5-way 1-shot"]
    assert gain > sum(scores[stage].margin["5-way 1-shot"] for stage in ("final", "warm_start"))
    assert summary.epsilon is None


@pytest.mark.parametrize("kind", ["meta_lstm", pytest.param("reptile", marks=pytest.mark.slow)])
def test_an_inner_loop_is_trained_under_task_level_privacy(kind: str, tmp_path: Path) -> None:
    summary = run(
        tmp_path / "run",
        learner={"kind": kind, "filters": 8, "ways": 4, "shots": 1, "queries": 3, "inner_steps": 2},
        privacy={"kind": "task_level", "epsilon": 10, "delta": 1e-3},
        schedule={"kind": "two_phase", "batch": 4, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 1},
        evaluation={"shots": [1], "queries": 5, "episodes": 10},
    )
    assert summary.epsilon is not None
    assert 0 < summary.epsilon <= 10


def test_too_few_held_out_classes_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^8 .* 11 images.*evaluation\.ways"):
        run(tmp_path / "run", evaluation={"ways": 9, "shots": [1], "queries": 10})
    assert not (tmp_path / "run").exists()


def test_a_silo_without_a_whole_task_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^0 .* 31 images.*learner\.shots"):
        run(
            tmp_path / "run",
            learner={"kind": "protonet", "queries": 30},
            privacy={"kind": "task_level", "epsilon": 10, "delta": 1e-3},
        )
    assert not (tmp_path / "run").exists()


def test_a_delta_that_would_publish_a_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"privacy\.delta .*240 examples.* 1 / 240,"):
        run(
            tmp_path / "run",
            learner={"kind": "protonet", "ways": 2, "shots": 1, "queries": 2},
            privacy={"kind": "task_level", "epsilon": 10, "delta": 0.02},
        )


def test_a_silo_refuses_fresh_episodes_by_itself(tmp_path: Path) -> None:
    """A job that came past its own checks, as a copy does."""
    job = Job.model_validate(
        {**FEW_SHOT, "learner": {"kind": "protonet", "episodes": "fresh"}, "privacy": {"kind": "none"}}
    )
    promising = job.model_copy(update={"privacy": TaskLevel(kind="task_level", epsilon=8, delta=1e-4)})
    with pytest.raises(ConfigError, match=r"learner\.episodes"):
        count_units(promising, load(job.data)[0])


def test_two_runs_that_are_compared_are_asked_the_same_tasks() -> None:
    job = Job.model_validate(FEW_SHOT)
    train, held_out = load(job.data)
    model = build_few_shot_model(job.learner, train.shape, seed=0)  # type: ignore[arg-type]
    one, other = (build_scorer(job, train, held_out, {}, {}).score("final", None, model, (), Path()) for _ in range(2))
    assert one == other


def test_a_plan_refuses_what_a_run_would(tmp_path: Path) -> None:
    job = Job.model_validate({**FEW_SHOT, "evaluation": {"ways": 500}})
    (tmp_path / "job.yaml").write_text(to_yaml(job))
    command = [sys.executable, "-m", "siloseal", "plan", tmp_path / "job.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "evaluation.ways" in done.stderr


def test_a_sum_too_coarse_for_gates_is_refused(tmp_path: Path) -> None:
    """Weights that begin at a hundredth need more than a generator's do."""
    coarse = {"kind": "additive", "precision_bits": 16}
    with pytest.raises(ConfigError, match=r"precision_bits .*north"):
        run(tmp_path / "run", secure_sum=coarse, largest_silo=1000)
    job = Job.model_validate({**FEW_SHOT, "secure_sum": coarse, "largest_silo": 1000})
    assert (
        job.secure_sum.build().grid(weighted_domain(1, job.largest_weight)) / 2 * 1000 / 240 < GanConfig.coarsest
    )  # enough for a generator
