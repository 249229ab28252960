"""The status follows the run by its events, and tells of every silo what the request queue knows."""

from collections.abc import Callable

import pytest

from siloseal.aggregator.request_queue import RequestQueue
from siloseal.aggregator.status import MOST_NOTES, REPLAYS, Status
from siloseal.federation.analytics.any_job import AnyJob
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.errors import MessageError
from siloseal.federation.job.job import Job
from siloseal.federation.run_events.aggregator import BudgetSpent, RequestSent, StageBegan, WritingFailed
from siloseal.federation.run_events.coordination import (
    BytesCounted,
    NoteTaken,
    ReplayEnded,
    RequestReplayed,
    RoundBegan,
    RunBegan,
)
from siloseal.federation.run_events.stream import PublishedBefore, RunEvent, unheard
from siloseal.federation.transport.wire import consortium_pb2 as pb

from .real_silos import QUERIES

RUN = b"run".ljust(32)


class Watched:
    """A status that has heard of these events."""

    def __init__(self, job: AnyJob, *events: RunEvent, warning: str = "") -> None:
        self.queue = RequestQueue(job.silos.names, unheard)
        self.status = Status(job, RUN, self.queue, warning=warning)
        for event in events:
            self.status.hear(event)

    def silo(self, name: str) -> pb.SiloStatus:
        return next(silo for silo in self.status.report().silos if silo.silo == name)


@pytest.fixture
def job(small_job: Callable[..., Job]) -> Job:
    return small_job()


def test_before_anything_has_happened_everyone_enrols(job: Job) -> None:
    report = Watched(job).status.report()
    assert (report.job, report.run_id, report.job_digest) == (job.name, RUN, job.digest)
    assert (report.phase, report.request, report.round, list(report.notes)) == ("enrolment", 0, 0, [])
    assert [(silo.silo, silo.epsilon_spent, silo.attending) for silo in report.silos] == [
        (name, 0.0, False) for name in job.silos.names
    ]


def test_the_last_of_each_kind_of_event_counts(job: Job) -> None:
    events = (
        StageBegan("phase_1"),
        RequestSent(4, "train", ("north",), ("digest",), 10),
        BudgetSpent("north", 1.5),
        StageBegan("phase_2"),
        RoundBegan(2),
        RequestReplayed(9, "sum"),
        BudgetSpent("north", 2.5),
        BytesCounted("phase_1", "north", sent_bytes=5, received_bytes=7),
        BytesCounted("phase_2", "north", sent_bytes=5, received_bytes=7),
    )
    watched = Watched(job, *events)
    report, north = watched.status.report(), watched.silo("north")
    assert (report.phase, report.round, report.request, report.asked) == ("phase_2", 2, 9, "sum")
    assert (north.epsilon_spent, north.sent_bytes, north.received_bytes) == (2.5, 10, 14)
    assert watched.silo("east").epsilon_spent == 0.0


def test_what_an_earlier_process_published_counts_too(job: Job) -> None:
    watched = Watched(job, RunBegan(), PublishedBefore(BudgetSpent("north", 1.5)), PublishedBefore(StageBegan("x")))
    assert (watched.silo("north").epsilon_spent, watched.status.report().phase) == (1.5, "x")


def test_the_budget_that_was_assumed_of_a_silent_silo_gives_way_to_what_it_said_also_after_a_restart(job: Job) -> None:
    assumed, said = (PublishedBefore(BudgetSpent("north", epsilon)) for epsilon in (10.0, 3.0))
    watched = Watched(job, RunBegan(), assumed, said, ReplayEnded())
    assert watched.silo("north").epsilon_spent == 3.0


def test_a_run_that_is_played_again_stands_at_its_beginning_but_nothing_is_unspent(job: Job) -> None:
    watched = Watched(job, StageBegan("phase_1"), RoundBegan(1), NoteTaken("a"), BudgetSpent("north", 1.5), RunBegan())
    report = watched.status.report()
    assert (report.phase, report.round, list(report.notes)) == ("enrolment", 0, [])
    assert watched.silo("north").epsilon_spent == 1.5


def test_no_figure_falls_while_a_run_is_played_again(job: Job) -> None:
    """The process has heard of later figures than those that come by once more."""
    watched = Watched(job, BudgetSpent("north", 1.5), BudgetSpent("north", 2.5), RunBegan())
    for figure in (1.5, 2.5):
        watched.status.hear(PublishedBefore(BudgetSpent("north", figure)))
        assert watched.silo("north").epsilon_spent == 2.5


def test_what_a_silo_says_replaces_what_was_assumed_of_it_while_it_was_silent(job: Job) -> None:
    watched = Watched(job, BudgetSpent("north", 10.0), BudgetSpent("north", 2.5))
    assert watched.silo("north").epsilon_spent == 2.5


def test_a_note_says_that_figures_of_a_replay_may_be_old(job: Job) -> None:
    """A new process does not know the last figures before it has replayed all."""
    watched = Watched(job, RunBegan(), RequestReplayed(4, "train"), PublishedBefore(BudgetSpent("north", 1.5)))
    assert list(watched.status.report().notes) == [REPLAYS]
    watched.status.hear(ReplayEnded())
    assert list(watched.status.report().notes) == []


def test_notes_stand_between_the_rosters_warning_and_what_keeps_the_aggregator(job: Job) -> None:
    notes = [NoteTaken(f"note {number}") for number in range(MOST_NOTES + 1)]
    watched = Watched(job, *notes, WritingFailed("no room", 1.0), warning="keys were made elsewhere")
    shown = watched.status.report().notes
    assert (shown[0], shown[1], shown[-1]) == ("keys were made elsewhere", "note 1", "no room")
    watched.status.hear(ReplayEnded())
    assert watched.status.report().notes[-1] == f"note {MOST_NOTES}"


def test_what_was_refused_from_a_silo_is_told(job: Job) -> None:
    watched = Watched(job)
    watched.queue.note_trouble("east", MessageError("no reply"))
    assert [watched.silo(name).trouble for name in ("north", "east")] == ["", "MessageError: no reply"]


@pytest.mark.parametrize(
    ("schedule", "rounds"),
    [
        ({"kind": "two_phase", "batch": 48, "local_steps": 5, "tuning_rounds": 3, "tuning_steps": 2}, 3),
        ({"kind": "two_phase", "batch": 48, "local_steps": 5, "tuning_rounds": 0}, 0),
        ({"kind": "fedavg", "rounds": 4, "local_epochs": 0.2, "batch": 48}, 4),
    ],
)
def test_the_number_of_rounds_is_the_jobs(
    small_job: Callable[..., Job], schedule: dict[str, object], rounds: int
) -> None:
    assert Watched(small_job(schedule=schedule)).status.report().rounds == rounds


def test_a_job_of_queries_has_as_many_rounds_as_queries() -> None:
    assert Watched(AnalyticsJob.model_validate(QUERIES)).status.report().rounds == 2
