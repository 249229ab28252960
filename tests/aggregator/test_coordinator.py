"""One run of one job, from its first request to its last, among real silos."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from siloseal.aggregator.coordinator import Coordinator, Outcome
from siloseal.aggregator.dispatcher import Dispatcher
from siloseal.federation.analytics.config import AnalyticsJob
from siloseal.federation.errors import MessageError, RunError
from siloseal.federation.job.releases import Run
from siloseal.federation.run_events.aggregator import RequestSent
from siloseal.federation.run_events.coordination import ReplayEnded, RequestReplayed, RunBegan
from siloseal.federation.run_events.stream import RunEvent, unheard
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.runs.simulation import open_journal

from .real_silos import QUERIES, LossyEngine, answer, query_silos

JOB = AnalyticsJob.model_validate(QUERIES)
NAMES = JOB.silos.names
ENTERING = [(silo, kind) for kind in ("enrol", "begin", "nonces") for silo in NAMES]
LEAVING = [(silo, "finish") for silo in NAMES]


class Work:
    """A kind of work that keeps what it is given, asks for nothing, and may fail at one step."""

    def __init__(self, fails_in: str = "") -> None:
        self.fails_in, self.steps = fails_in, list[str]()

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if name == self.fails_in:
            raise RunError(f"this work fails in {name}")

    def check_enrolment(self, silo: str, reply: pb.Reply) -> None:
        if self.fails_in == "check_enrolment":
            raise MessageError(f"{silo} describes no data that there can be")

    def enrol(self, replies: Mapping[str, pb.Reply]) -> None:
        assert set(replies) == set(NAMES)
        self._step("enrol")

    def run(self, run: Run, dispatcher: Dispatcher) -> str:
        self.given = run
        self._step("run")
        dispatcher.note("something to know")
        return "done"

    def finish(self) -> pb.Finish:
        self._step("finish")
        return pb.Finish()


def coordinated(work: Work, folder: Path, publish: list[RunEvent]) -> tuple[Outcome[str], LossyEngine]:
    with query_silos(JOB, folder) as silos, open_journal(folder, JOB.digest) as journal:
        engine = LossyEngine(silos)
        return Coordinator(JOB, work, engine, journal, publish.append).run(), engine


def test_everyone_enters_the_work_is_done_and_everyone_leaves(tmp_path: Path) -> None:
    work, events = Work(), list[RunEvent]()
    outcome, engine = coordinated(work, tmp_path, events)
    assert engine.asked == ENTERING + LEAVING
    assert work.steps == ["enrol", "run", "finish"]
    assert outcome == Outcome("done", requests=4, notes=["something to know"])
    assert isinstance(events[0], RunBegan)
    assert set(work.given.identities) == set(NAMES)


@pytest.mark.parametrize(
    ("fails_in", "asked", "error"),
    [
        ("check_enrolment", ENTERING[:4], MessageError),
        ("enrol", ENTERING[:4], RunError),
        ("run", ENTERING, RunError),
        ("finish", ENTERING, RunError),
    ],
)
def test_a_work_that_fails_ends_the_run_there_and_another_goes_on_from_the_journal(
    tmp_path: Path, fails_in: str, asked: list[tuple[str, str]], error: type[Exception]
) -> None:
    with query_silos(JOB, tmp_path) as silos, open_journal(tmp_path, JOB.digest) as journal:
        engine = LossyEngine(silos)
        with pytest.raises(error):
            Coordinator(JOB, Work(fails_in), engine, journal, unheard).run()
    assert engine.asked == asked
    outcome, again = coordinated(Work(), tmp_path, [])
    assert outcome.result == "done"
    journalled = [] if fails_in == "check_enrolment" else asked
    assert again.asked == [one for one in ENTERING + LEAVING if one not in journalled]


def test_a_finished_run_is_replayed_with_the_same_outcome_and_nobody_is_asked(tmp_path: Path) -> None:
    work, again, events = Work(), Work(), list[RunEvent]()
    first, _ = coordinated(work, tmp_path, [])
    second, engine = coordinated(again, tmp_path, events)
    assert (second, engine.asked) == (first, [])
    assert again.given == work.given, "the nonces that the journal has make the same run"
    replayed = [event.number for event in events if isinstance(event, RequestReplayed)]
    assert (replayed, events.count(ReplayEnded())) == ([1, 2, 3, 4], 1)
    assert not any(isinstance(event, RequestSent) for event in events)


def test_a_silo_that_is_gone_at_the_end_keeps_nobody_from_it(tmp_path: Path) -> None:
    with query_silos(JOB, tmp_path) as silos:
        engine = LossyEngine(silos, lambda silo, request: silo == "north" and request.WhichOneof("body") == "finish")
        outcome = answer(JOB, engine, tmp_path, unheard)
    assert len(outcome.result.answers) == len(JOB.queries)
    assert [note.split()[0] for note in outcome.notes] == ["north"]
