"""What earlier runs have cost one example: the events of their ledgers, or an error where these cannot be believed."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.analytics.releases import query_releases
from siloseal.federation.averages.config import AverageJob
from siloseal.federation.config.loading import to_yaml
from siloseal.federation.errors import ConfigError, LedgerDamaged, RunError, UncountableEvent
from siloseal.federation.job.guarantee import guarantee_of
from siloseal.federation.job.job import Job
from siloseal.federation.job.releases import events_of
from siloseal.federation.privacy.events import BinomialRelease, GaussianRelease, SampledGaussianSteps, exchanged
from siloseal.silo.allowance import NOTHING_SPENT, Spent
from siloseal.silo.earlier_runs import JOB_FILE, NO_NOISE, REDRAWN_TASKS, spent_in
from siloseal.silo.ledger import Budget, Ledger, open_ledger
from siloseal.silo.state import Checkpoint, SiloState

from .test_ledger import as_an_earlier_version_began_it

EXAMPLE_LEVEL = {"kind": "example_level", "epsilon": 10, "delta": 1e-5}
SILOS = {"names": ["north", "east", "south"]}


@pytest.fixture
def job_of(small_job: Callable[..., Job]) -> Callable[..., Job]:
    def make(**sections: Any) -> Job:
        return small_job(**{"secure_sum": {"kind": "ckks"}, "privacy": EXAMPLE_LEVEL, **sections})

    return make


@pytest.fixture
def run_of(job_of: Callable[..., Job], tmp_path: Path) -> Callable[..., Path]:
    """A run's folder as a silo leaves it."""

    def make(name: str, *, trained: bool = True, releases: int = 1, **sections: Any) -> Path:
        job, folder = job_of(**sections), tmp_path / name
        state = SiloState(folder)
        (folder / JOB_FILE).write_text(to_yaml(job))
        if job.privacy.kind != "none":
            budget = Budget(job.privacy.epsilon, job.privacy.delta)
            path, guarantee = folder / "ledger.jsonl", guarantee_of(job)
            with Ledger(path, silo="north", budget=budget, guarantee=guarantee) as ledger:
                for _ in range(releases):
                    ledger.charge(GaussianRelease(noise_multiplier=5.0), phase="warm_start")
        if trained:
            state.save(Checkpoint(3, "phase_1", charges=releases if job.privacy.kind != "none" else 0))
        return folder

    return make


def test_runs_cost_the_events_of_their_ledgers(run_of: Callable[..., Path]) -> None:
    one = GaussianRelease(5.0)
    assert spent_in([run_of("a")], "north") == Spent((one,))
    both = spent_in([run_of("b"), run_of("c", releases=2, privacy={**EXAMPLE_LEVEL, "delta": 1e-6})], "north")
    assert both == Spent((one, one, one))


def test_runs_cost_an_example_more_where_the_silo_as_a_whole_was_protected(run_of: Callable[..., Path]) -> None:
    """With the example or without it, what left is another vector within the clip norm: twice as far, not as far."""
    silo_level = {"kind": "silo_level", "epsilon": 10, "delta": 1e-5}
    whole = spent_in([run_of("a", privacy=silo_level, mechanism={"kind": "gaussian_local"})], "north")
    assert whole == Spent((GaussianRelease(2.5),))


def test_runs_cost_nothing_while_nothing_was_made_of_the_data(run_of: Callable[..., Path]) -> None:
    assert spent_in([run_of("a", trained=False, releases=0)], "north") == NOTHING_SPENT
    assert spent_in([], "north") == NOTHING_SPENT


def test_runs_cost_what_their_ledgers_say_when_the_networks_were_deleted_too(run_of: Callable[..., Path]) -> None:
    assert spent_in([run_of("a", trained=False)], "north") == spent_in([run_of("b")], "north")


def test_runs_cost_everything_if_they_had_no_noise(run_of: Callable[..., Path], job_of: Callable[..., Job]) -> None:
    spent = spent_in([run_of("a", privacy={"kind": "none"})], "north")
    assert spent == Spent(unbounded=NO_NOISE)
    assert spent.epsilon(1e-5) == math.inf


def test_a_run_whose_ledger_is_gone_cannot_be_counted(run_of: Callable[..., Path]) -> None:
    folder = run_of("a")
    (folder / "ledger.jsonl").unlink()
    with pytest.raises(LedgerDamaged, match=str(folder / "ledger.jsonl")):
        spent_in([folder], "north")


@pytest.mark.parametrize("left", [0, 1, 2, 1.5], ids=["nothing", "header", "one of two charges", "half a line"])
def test_a_run_whose_ledger_has_lost_lines_cannot_be_counted(run_of: Callable[..., Path], left: float) -> None:
    folder = run_of("a", releases=2)
    path = folder / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    half = lines[int(left)][:20] if left != int(left) else b""
    path.write_bytes(b"".join(lines[: int(left)]) + half)
    before = path.read_bytes()
    with pytest.raises(LedgerDamaged, match=str(path)):
        spent_in([folder], "north")
    assert path.read_bytes() == before


def test_a_run_whose_checkpoint_is_damaged_say_which_file_to_restore(run_of: Callable[..., Path]) -> None:
    folder = run_of("a")
    (path := folder / "checkpoint.safetensors").write_bytes(b"\xff" + path.read_bytes()[1:])
    with pytest.raises(LedgerDamaged, match=str(path)):
        spent_in([folder], "north")


def test_a_run_whose_job_was_put_in_from_another_run_cannot_be_counted(run_of: Callable[..., Path]) -> None:
    """The ledger of a silo as a whole costs one example more than an example's with the same budget."""
    silo_level = {"kind": "silo_level", "epsilon": 10, "delta": 1e-5}
    whole = run_of("a", privacy=silo_level, mechanism={"kind": "gaussian_local"})
    (whole / JOB_FILE).write_bytes((run_of("b") / JOB_FILE).read_bytes())
    with pytest.raises(LedgerDamaged, match=str(whole)):
        spent_in([whole], "north")


def test_a_run_whose_ledger_names_the_relation_as_earlier_versions_did_is_counted(run_of: Callable[..., Path]) -> None:
    folder = run_of("a")
    expected = spent_in([folder], "north")
    as_an_earlier_version_began_it(folder / "ledger.jsonl", "add/remove")
    assert spent_in([folder], "north") == expected


def test_a_run_whose_ledger_is_another_silos_cannot_be_counted(run_of: Callable[..., Path]) -> None:
    folder = run_of("a")
    assert spent_in([folder], "north").events
    with pytest.raises(LedgerDamaged, match="north"):
        spent_in([folder], "east")


def test_a_run_whose_job_is_damaged_cannot_be_counted(run_of: Callable[..., Path]) -> None:
    folder = run_of("a")
    (folder / JOB_FILE).write_text("name: [")
    with pytest.raises(ConfigError, match=JOB_FILE):
        spent_in([folder], "north")


def test_steps_of_a_task_level_run_cost_an_example_their_exchange(job_of: Callable[..., Job], tmp_path: Path) -> None:
    """Without an image its task becomes another one."""
    steps = SampledGaussianSteps(0.1, 2.0, 30)
    few_shot = {"learner": {"kind": "protonet"}, "data": {"kind": "strokes"}, "evaluation": {}}
    task_level = {"kind": "task_level", "epsilon": 10, "delta": 1e-5}
    job = job_of(privacy=task_level, warm_start={"kind": "none"}, **few_shot)
    (tmp_path / JOB_FILE).write_text(to_yaml(job))
    ledger = open_ledger(job, "north", tmp_path, worked_before=False)
    assert ledger is not None
    with ledger:
        ledger.charge(steps, phase="phase_1")
    assert spent_in([tmp_path], "north") == Spent((exchanged(steps),))
    as_an_earlier_version_began_it(tmp_path / "ledger.jsonl", "add/remove")
    assert spent_in([tmp_path], "north") == Spent(unbounded=REDRAWN_TASKS), "its tasks were not stable"
    with pytest.raises(RunError, match=str(tmp_path)):
        open_ledger(job, "north", tmp_path, worked_before=True)


def test_a_run_whose_release_no_theorem_counts_for_an_example_costs_everything(
    run_of: Callable[..., Path], job_of: Callable[..., Job]
) -> None:
    """The silo's release can be counted, an example's cannot: an exchange moves an entry twice as far."""
    silo_level = {"kind": "silo_level", "epsilon": 100, "delta": 1e-5}
    folder = run_of("a", privacy=silo_level, mechanism={"kind": "gaussian_local"}, releases=0)
    release = BinomialRelease(4000, 1.0, 1.0, 400.0, 1, 1e-6)
    with pytest.raises(UncountableEvent):
        exchanged(release)
    ledger = open_ledger(
        job_of(privacy=silo_level, mechanism={"kind": "gaussian_local"}), "north", folder, worked_before=True
    )
    assert ledger is not None
    with ledger:
        ledger.charge(release, phase="phase_1")
    spent = spent_in([folder, run_of("b")], "north")
    assert spent.epsilon(1e-5) == math.inf
    assert spent.events == (GaussianRelease(5.0),)


class TestQueries:
    def spent(self, folder: Path, charged: int, **sections: Any) -> tuple[AnalyticsJob, Spent, float]:
        """A job of queries, what its run cost after so many releases, and what its ledger holds."""
        named = {
            "name": "look",
            "data": {"kind": "csv", "folder": "."},
            "silos": SILOS,
            "secure_sum": {"kind": "secagg"},
        }
        job = AnalyticsJob.model_validate({**named, "privacy": {"epsilon": 2, "delta": 1e-6}, **sections})
        (folder / JOB_FILE).write_text(to_yaml(job))
        ledger = open_ledger(job, "north", folder, worked_before=False)
        assert ledger is not None
        with ledger:
            for release in list(query_releases(job))[:charged]:
                assert release.event is not None
                ledger.charge(release.event, phase=release.entry)
            return job, spent_in([folder], "north"), ledger.epsilon

    def test_that_were_answered_count(self, tmp_path: Path) -> None:
        asked = [{"kind": "histogram", "column": "sex", "values": ["f", "m"]}]
        job, spent, charged = self.spent(tmp_path, 1, queries=asked)
        assert list(spent.events) == events_of(query_releases(job))
        assert spent.epsilon(1e-6) == charged == pytest.approx(2, abs=0.02)

    @pytest.mark.parametrize("charged", [1, 3])
    def test_that_ended_early_count_as_planned(self, tmp_path: Path, charged: int) -> None:
        """When a query ends depends on the data: some releases of eight cost what the job's statement says."""
        job, spent, epsilon = self.spent(tmp_path, charged, queries=[{"kind": "heavy_hitters", "column": "ward"}])
        assert sorted(spent.events, key=repr) == sorted(events_of(query_releases(job)), key=repr)
        assert epsilon < 1.5 < spent.epsilon(1e-6) == pytest.approx(2, abs=0.02)

    def test_about_the_first_record_of_each_person_cost_an_exchange(self, tmp_path: Path) -> None:
        asked = [{"kind": "distinct", "column": "sex"}, {"kind": "mean", "column": "age", "low": 0, "high": 100}]
        privacy = {"epsilon": 2, "delta": 1e-6, "person": {"column": "who", "records": 1}}
        job, spent, _ = self.spent(tmp_path, 1, queries=asked, privacy=privacy)
        assert list(spent.events) == [exchanged(event) for event in events_of(query_releases(job))]

    def test_of_which_none_was_answered_cost_nothing(self, tmp_path: Path) -> None:
        assert self.spent(tmp_path, 0, queries=[{"kind": "heavy_hitters", "column": "ward"}])[1] == NOTHING_SPENT


def test_averages_cost_everything_that_a_later_job_could_spend(tmp_path: Path) -> None:
    job = AverageJob.model_validate({"name": "own", "silos": SILOS, "secure_sum": {"kind": "ckks"}, "averages": 3})
    (tmp_path / JOB_FILE).write_text(to_yaml(job))
    assert spent_in([tmp_path], "north") == NOTHING_SPENT
    SiloState(tmp_path).save(Checkpoint(4, "module"))
    assert spent_in([tmp_path], "north") == Spent(unbounded=NO_NOISE)
