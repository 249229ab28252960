"""The aggregator's side: the journal, the conversation, and what ends a run."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from aggregator.conversation import Conversation
from aggregator.journal import Journal
from federation.config.job import Job
from federation.errors import MessageError, RunError
from federation.wire import messages_pb2 as pb

JOB = bytes(32)


class Answering:
    """An engine that counts what it is asked, and answers with what the test prepared."""

    def __init__(self, answer: Callable[[str, pb.Request], bytes]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def ask(self, requests: Mapping[str, bytes], deadline_seconds: float) -> Mapping[str, bytes]:
        self.asked += requests
        return {silo: self._answer(silo, pb.Request.FromString(request)) for silo, request in requests.items()}


def enrolled(silo: str, request: pb.Request) -> bytes:
    return pb.Reply(number=request.number, silo=silo, enrolled=pb.Enrolled(classes=10)).SerializeToString()


def enrolment() -> dict[str, pb.Request]:
    return {silo: pb.Request(enrol=pb.Enrol()) for silo in ("north", "east", "south")}


def test_a_request_is_asked_once_in_the_life_of_a_run(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job, engine = small_job(), Answering(enrolled)
    for _ in range(2):  # the second time as after a crash
        journal = Journal(tmp_path / "journal.sqlite", job.digest)
        replies = Conversation(job, engine, journal).ask(enrolment())
        assert {silo: reply.enrolled.classes for silo, reply in replies.items()} == dict.fromkeys(enrolment(), 10)
        journal.close()
    assert sorted(engine.asked) == ["east", "north", "south"]


def test_a_refusal_ends_the_run_in_the_silos_own_words_and_is_asked_again(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    def refuse(silo: str, request: pb.Request) -> bytes:
        if silo != "east":
            return enrolled(silo, request)
        return pb.Reply(number=request.number, silo=silo, refusal=pb.Refusal(message="not today")).SerializeToString()

    job, engine = small_job(), Answering(refuse)
    for _ in range(2):
        journal = Journal(tmp_path / "journal.sqlite", job.digest)
        with pytest.raises(RunError, match="east refused: not today"):
            Conversation(job, engine, journal).ask(enrolment())
        journal.close()
    assert sorted(engine.asked) == ["east", "east", "north", "south"]


@pytest.mark.parametrize(
    "reply", [pb.Reply(number=1, silo="south"), pb.Reply(number=2, silo="north"), pb.Reply()], ids=str
)
def test_a_reply_of_another_silo_or_to_another_request_is_refused(
    small_job: Callable[..., Job], tmp_path: Path, reply: pb.Reply
) -> None:
    job, engine = small_job(), Answering(lambda *_: reply.SerializeToString())
    with pytest.raises(MessageError, match="north was asked request 1"):
        Conversation(job, engine, Journal(tmp_path / "j", job.digest)).ask({"north": pb.Request(enrol=pb.Enrol())})


def test_a_silent_silo_is_named(small_job: Callable[..., Job], tmp_path: Path) -> None:
    class Silent:
        def ask(self, requests: Mapping[str, bytes], deadline_seconds: float) -> Mapping[str, bytes]:
            return {}

    job = small_job()
    with pytest.raises(RunError, match="north did not answer"):
        Conversation(job, Silent(), Journal(tmp_path / "j", job.digest)).ask({"north": pb.Request(enrol=pb.Enrol())})


def test_bytes_are_counted_by_stage_and_silo(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job = small_job()
    talk = Conversation(job, Answering(enrolled), Journal(tmp_path / "j", job.digest))
    talk.ask(enrolment())
    assert talk.sent["enrolment", "north"] == len(enrolled("north", pb.Request(number=1)))
    assert talk.received["enrolment", "north"] > 32  # the job's digest and the request


def test_a_journal_belongs_to_one_job(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.sqlite", JOB).close()
    with pytest.raises(RunError, match="begun with another job"):
        Journal(tmp_path / "journal.sqlite", b"\1" * 32)


def test_a_journal_refuses_to_replay_another_request(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite", JOB)
    journal.record(1, {"north": b"request"}, {"north": b"reply"})
    assert journal.replies(1, {"north": b"request"}) == {"north": b"reply"}
    with pytest.raises(RunError, match="request 1 to north differs"):
        journal.replies(1, {"north": b"another"})


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> bytes:
        calls.append(1)
        return np.arange(3, dtype="<f4").tobytes()

    for _ in range(2):
        journal = Journal(tmp_path / "journal.sqlite", JOB)
        assert np.frombuffer(journal.result("fit", compute), dtype="<f4").tolist() == [0, 1, 2]
        journal.close()
    assert calls == [1]


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(RunError, match="damaged"):
        Journal(tmp_path / "journal.sqlite", JOB)


def test_every_entry_is_flushed_before_anything_rests_on_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite", JOB)
    journal.record(1, {"north": b"request"}, {"north": b"reply"})
    other = sqlite3.connect(tmp_path / "journal.sqlite")
    assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (1,)
    assert journal._database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
