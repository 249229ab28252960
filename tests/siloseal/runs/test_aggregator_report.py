"""What a deployed aggregator reports of every kind of job, with the same coordinator and real silos in this process."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siloseal.aggregator.coordinator import Outcome
from siloseal.aggregator.training import TrainedModel
from siloseal.federation.job.job import Job
from siloseal.federation.privacy.guarantee import for_one_example
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.run_events.aggregator import BudgetSpent
from siloseal.federation.run_events.coordination import ReplayEnded, RequestReplayed
from siloseal.federation.run_events.stream import EventStream, PublishedBefore, unheard
from siloseal.run_folder.run import Run, read_run
from siloseal.run_folder.summary import RunSummary
from siloseal.runs.aggregator_report import RESTARTED, AggregatorRecorder
from siloseal.runs.simulation import deal, federate, open_silos
from siloseal.silo.allowance import cost_of_one_example
from siloseal.silo.data.loading import load
from siloseal.silo.ledger_reading import read_ledger
from tests.siloseal.runs.test_few_shot_runs import FEW_SHOT
from tests.siloseal.runs.test_record_scoring import CLASSIFIER

SHORT = {"kind": "two_phase", "batch": 48, "local_steps": 3, "tuning_rounds": 1, "tuning_steps": 2}

RUN, OTHER_RUN = (number.to_bytes(32) for number in (1, 2))


def report(job: Job, folder: Path) -> Run:
    """Of the job among silos of this process. The state folder is the aggregator's."""
    (state := folder / "state").mkdir(parents=True)
    recorder = AggregatorRecorder(job, state, RUN)
    assert recorder.write(ended(job, folder, recorder)) == state / "report.html"
    return read_run(state)


def ended(job: Job, folder: Path, recorder: AggregatorRecorder) -> Outcome[TrainedModel]:
    """What the job ends with, of which the recorder hears."""
    train, _ = load(job.data)
    with open_silos(job, deal(job, train), folder, lambda _: SecureRandomness(), unheard) as silos:
        return federate(job, silos, folder, EventStream(recorder.hear).publish, workers=1)


def spent(summary: RunSummary) -> set[float | None]:
    return {silo.epsilon for silo in summary.silos}


class TestAStateFolderThatHasAReport:
    @pytest.fixture
    def job(self, small_job: Callable[..., Job]) -> Job:
        return small_job(schedule=SHORT)

    @pytest.fixture
    def outcome(self, job: Job, tmp_path: Path) -> Outcome[TrainedModel]:
        """That of a run whose report is in the folder."""
        recorder = AggregatorRecorder(job, tmp_path, RUN)
        recorder.hear(BudgetSpent("north", 1.5))
        recorder.write(outcome := ended(job, tmp_path / "silos", recorder))
        return outcome

    def test_keeps_what_the_process_before_has_measured_of_the_same_run(
        self, job: Job, outcome: Outcome[TrainedModel], tmp_path: Path
    ) -> None:
        before = {name: (tmp_path / name).read_bytes() for name in ("summary.json", "metrics.jsonl")}
        assert read_run(tmp_path).summary.run_id == RUN.hex()
        AggregatorRecorder(job, tmp_path, RUN).write(outcome)
        assert {name: (tmp_path / name).read_bytes() for name in before} == before

    def test_gets_the_report_of_another_run(self, job: Job, outcome: Outcome[TrainedModel], tmp_path: Path) -> None:
        """The journal was lost, and the aggregator began anew."""
        (stale := tmp_path / "samples" / "round_9.npz").write_bytes(b"of the run before")
        recorder = AggregatorRecorder(job, tmp_path, OTHER_RUN)
        recorder.hear(BudgetSpent("north", 7.25))
        before = (page := tmp_path / "report.html").read_bytes()
        assert recorder.write(outcome) == page
        summary = read_run(tmp_path).summary
        assert (summary.run_id, summary.silos[0].epsilon) == (OTHER_RUN.hex(), 7.25)
        assert page.read_bytes() != before
        assert not stale.exists()

    @pytest.mark.parametrize("name", ["report.html", "summary.json", "metrics.jsonl"])
    @pytest.mark.parametrize("content", [b"", b"{", None], ids=["empty", "torn", "gone"])
    def test_has_a_whole_one_in_the_end_whatever_was_lost(
        self, job: Job, outcome: Outcome[TrainedModel], tmp_path: Path, name: str, content: bytes | None
    ) -> None:
        (tmp_path / name).unlink()
        if content is not None:
            (tmp_path / name).write_bytes(content)
        page = AggregatorRecorder(job, tmp_path, RUN).write(outcome)
        assert page.read_text().endswith("</html>\n")
        run = read_run(tmp_path)
        assert run.summary.run_id == RUN.hex()
        assert run.privacy


def test_without_privacy_there_is_no_guarantee(small_job: Callable[..., Job], tmp_path: Path) -> None:
    run = report(small_job(schedule=SHORT, privacy={"kind": "none"}), tmp_path)
    assert (run.summary.epsilon, run.summary.delta, spent(run.summary)) == (None, None, {None})
    assert all("no guarantee" in silo.statement for silo in run.summary.silos)
    assert run.summary.parameters["privacy"] == "off"


def test_where_sums_cost_something_they_are_all_counted(small_job: Callable[..., Job], tmp_path: Path) -> None:
    masked = {"kind": "secagg"}
    job = small_job(
        schedule={**SHORT, "tuning_sum": masked}, secure_sum=masked, mechanism={"kind": "skellam"},
        privacy={"kind": "silo_level", "epsilon": 8, "delta": 1e-4},
    )  # fmt: skip
    run = report(job, tmp_path)
    ledgers = [read_ledger(tmp_path / "silos" / name / "ledger.jsonl") for name in job.silos.names]
    assert [silo.epsilon for silo in run.summary.silos] == [pytest.approx(ledger.epsilon) for ledger in ledgers]
    costs = [cost_of_one_example(job, [charge.event for charge in ledger.charges]).epsilon(1e-4) for ledger in ledgers]
    assert [silo.epsilon_of_one_example for silo in run.summary.silos] == [pytest.approx(cost) for cost in costs]
    assert for_one_example(max(costs), 1e-4)[1:] in html.unescape((tmp_path / "state" / "report.html").read_text())


def test_a_few_shot_job_has_a_report_without_pictures(tmp_path: Path) -> None:
    run = report(Job.model_validate(FEW_SHOT), tmp_path)
    assert run.samples == {}
    assert run.summary.few_shot
    text = (tmp_path / "state" / "report.html").read_text()
    assert "which has seen none of them" in text
    assert "not measured" not in text


@pytest.mark.parametrize(
    "learner",
    [{"model": "logistic"}, {"model": "mlp", "local": ["5.*"]}],
    ids=["shared", "with parts of the silos' own"],
)
def test_a_classifier_has_a_report_without_scores_and_names_of_classes(tmp_path: Path, learner: dict[str, Any]) -> None:
    job = Job.model_validate({**CLASSIFIER, "learner": {"kind": "classifier", **learner}})
    run = report(job, tmp_path)
    assert (run.samples, run.quality, run.summary.accuracy) == ({}, [], {})
    text = (tmp_path / "state" / "report.html").read_text()
    assert "which has seen none of them" in text
    assert "Samples" not in text
    assert "Confusion" not in text
    assert "not measured" not in text


def test_the_figure_of_a_silo_is_the_one_that_was_published_last(small_job: Callable[..., Job], tmp_path: Path) -> None:
    """A silo of which nothing was published was asked for nothing that costs."""
    job = small_job(schedule=SHORT)
    recorder = AggregatorRecorder(job, tmp_path, RUN)
    for event in (PublishedBefore(BudgetSpent("north", 1.5)), BudgetSpent("east", 2.0), BudgetSpent("east", 3.0)):
        recorder.hear(event)
    assert [recorder._epsilon(name) for name in job.silos.names] == [1.5, 3.0, 0.0]


@pytest.mark.parametrize("replays", [0, 1, 2])
def test_a_run_that_another_process_began_says_so(small_job: Callable[..., Job], tmp_path: Path, replays: int) -> None:
    """A full disk makes one process play its own run again, which is no interruption."""
    job = small_job(schedule=SHORT)
    recorder = AggregatorRecorder(job, tmp_path, RUN)
    replayed = RequestReplayed(1, "enrol")
    events: dict[int, list[Any]] = {0: [ReplayEnded()], 1: [replayed, ReplayEnded()], 2: [ReplayEnded(), replayed]}
    for event in events[replays]:
        recorder.hear(event)
    assert recorder._restarted is (replays == 1)


def test_the_notes_say_what_is_not_known(small_job: Callable[..., Job], tmp_path: Path) -> None:
    run = report(small_job(schedule=SHORT), tmp_path)
    notes = [note.text for note in run.notes]
    assert any("It holds no data and no ledger" in note for note in notes)
    assert RESTARTED not in notes
    assert run.summary.classifier == ""
