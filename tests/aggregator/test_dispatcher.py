"""Numbered requests and journalled replies: each is asked once, counted once, and what cannot be right is refused."""

import hashlib
import re
import resource
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from siloseal.aggregator.dispatcher import Dispatcher, Patience
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.traffic import Traffic
from siloseal.federation.errors import DomainError, MessageError, RunError, SiloRefused
from siloseal.federation.job.job import Job
from siloseal.federation.records.audit import AuditLog, entries
from siloseal.federation.run_events.aggregator import ReplyAccepted, ReplyKept
from siloseal.federation.run_events.coordination import BytesCounted
from siloseal.federation.run_events.lines import record_in
from siloseal.federation.run_events.stream import EventStream, RunEvent, unheard
from siloseal.federation.transport.engine import Accept, Engine
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

from .answering import Answering, reply_to

BEGIN = dict.fromkeys(("north", "east", "south"), pb.Request(begin=pb.Begin()))


def enrolled(silo: str, request: pb.Request) -> bytes:
    return reply_to(request, silo, enrolled=pb.Enrolled(classes=10))


def dispatcher_for(job: Job, engine: Engine, journal: Journal) -> Dispatcher:
    return Dispatcher(job, engine, journal, Patience(), unheard)


def enrolment() -> dict[str, pb.Request]:
    return {silo: pb.Request(enrol=pb.Enrol()) for silo in ("north", "east", "south")}


def test_what_the_journal_had_last_is_published_once_when_a_run_goes_on(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    """A kill may have come between the journal's entry and its event, at the last request only."""
    job = small_job()
    published = []
    for requests in (1, 2, 4):  # each time as after a kill
        journal, events = Journal(tmp_path / "journal.sqlite", job.digest), list[RunEvent]()
        dispatcher = Dispatcher(job, Answering(enrolled), journal, Patience(), events.append)
        for _ in range(requests):
            dispatcher.ask(enrolment())
        journal.close()
        replies = [event for event in events if isinstance(event, ReplyAccepted | ReplyKept)]
        published.append([(type(event), event.number) for event in replies if event.silo == "north"])
    assert published == [
        [(ReplyAccepted, 1)],
        [(ReplyKept, 1), (ReplyAccepted, 2)],
        [(ReplyKept, 2), (ReplyAccepted, 3), (ReplyAccepted, 4)],
    ]


def test_a_refusal_is_shown_as_far_as_a_terminal_can_show_it(small_job: Callable[..., Job], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite", (job := small_job()).digest)
    words = "\x1b[2Jno " + "x" * 5000
    engine = Answering(lambda silo, request: reply_to(request, silo, refusal=pb.Refusal(message=words)))
    with pytest.raises(SiloRefused) as error:
        dispatcher_for(job, engine, journal).ask(enrolment())
    journal.close()
    assert str(error.value).startswith("north refused:  [2Jno xxx")
    assert len(str(error.value)) < 3 * 2100


def test_a_request_is_asked_once_in_the_life_of_a_run(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job, engine = small_job(), Answering(enrolled)
    for _ in range(2):  # the second time as after a crash
        journal = Journal(tmp_path / "journal.sqlite", job.digest)
        replies = dispatcher_for(job, engine, journal).ask(enrolment())
        assert {silo: reply.enrolled.classes for silo, reply in replies.items()} == dict.fromkeys(enrolment(), 10)
        journal.close()
    assert sorted(engine.asked) == ["east", "north", "south"]


def test_a_refusal_ends_the_run_in_the_silos_own_words_and_is_asked_again(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    def refuse(silo: str, request: pb.Request) -> bytes:
        if silo != "east":
            return enrolled(silo, request)
        return reply_to(request, silo, refusal=pb.Refusal(message="not today"))

    job, engine = small_job(), Answering(refuse)
    for _ in range(2):
        journal = Journal(tmp_path / "journal.sqlite", job.digest)
        with pytest.raises(RunError, match=r"east .*not today"):
            dispatcher_for(job, engine, journal).ask(enrolment())
        journal.close()
    assert sorted(engine.asked) == ["east", "east", "north", "south"]


@pytest.mark.parametrize(
    "reply",
    [
        pb.Reply(number=1, silo="south", protocol_version=PROTOCOL_VERSION),
        pb.Reply(number=2, silo="north", protocol_version=PROTOCOL_VERSION),
        pb.Reply(protocol_version=PROTOCOL_VERSION),
    ],
    ids=str,
)
def test_a_reply_of_another_silo_or_to_another_request_is_refused(
    small_job: Callable[..., Job], tmp_path: Path, reply: pb.Reply
) -> None:
    job, engine = small_job(), Answering(lambda *_: reply.SerializeToString())
    with pytest.raises(MessageError, match=r"north .* request 1, "):
        dispatcher_for(job, engine, Journal(tmp_path / "j", job.digest)).ask({"north": pb.Request(enrol=pb.Enrol())})


class AllBut:
    """An engine whose deadline passes while some silos are silent."""

    def __init__(self, *silent: str) -> None:
        self.silent = silent

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        heard = {silo: request for silo, request in requests.items() if silo not in self.silent}
        assert len(heard) >= fewest
        Answering(enrolled).ask(heard, deadline_seconds=deadline_seconds, fewest=fewest, largest=largest, accept=accept)


def test_a_silent_silo_is_noted_and_not_asked_again(small_job: Callable[..., Job], tmp_path: Path) -> None:
    """After a restart it stays silent in that request: who rests on a reply must not see another one come."""
    job, late = small_job(), Answering(enrolled)
    for engine in (AllBut("north"), late):
        journal = Journal(tmp_path / "journal.sqlite", job.digest)
        dispatcher = dispatcher_for(job, engine, journal)
        assert set(dispatcher.ask(enrolment(), fewest=2)) == {"east", "south"}
        assert "north stayed silent" in dispatcher.notes[0]
        journal.close()
    assert late.asked == []


def test_what_a_check_refuses_is_not_in_the_journal(small_job: Callable[..., Job], tmp_path: Path) -> None:
    def check(silo: str, reply: pb.Reply) -> None:
        if silo == "south":
            raise DomainError("not a number")

    job, journal = small_job(), Journal(tmp_path / "journal.sqlite", small_job().digest)
    with pytest.raises(DomainError):
        dispatcher_for(job, Answering(enrolled), journal).ask(enrolment(), check=check)
    rows = journal._database.execute("SELECT silo FROM replies ORDER BY silo").fetchall()
    assert rows == [("east",), ("north",)]


def test_a_silo_that_could_not_read_its_request_is_heard_by_the_digest(
    small_job: Callable[..., Job], tmp_path: Path
) -> None:
    """It knows no number to refuse. Only a refusal may have none, and only of the bytes that were sent."""

    def unread(request: pb.Request, silo: str, **body: Any) -> bytes:
        reply = pb.Reply.FromString(reply_to(request, silo, **body))
        reply.number = 0
        return reply.SerializeToString()

    refused, job = pb.Refusal(message="9 bytes do not decode"), small_job()
    journal = Journal(tmp_path / "j", job.digest)
    right = Answering(lambda silo, request: unread(request, silo, refusal=refused))
    with pytest.raises(SiloRefused, match=r"north .*9 bytes"):
        dispatcher_for(job, right, journal).ask(enrolment())
    no_refusal = Answering(lambda silo, request: unread(request, silo, enrolled=pb.Enrolled()))
    other = Answering(lambda silo, request: unread(pb.Request(number=9), silo, refusal=refused))
    for engine in (no_refusal, other):
        with pytest.raises(MessageError):
            dispatcher_for(job, engine, journal).ask(enrolment())


@pytest.mark.parametrize(
    "altering",
    [
        "UPDATE replies SET reply = x'0102'",
        "UPDATE replies SET reply = x''",
        "UPDATE replies SET reply = (SELECT reply FROM replies WHERE silo = 'east') WHERE silo = 'north'",
        "DELETE FROM replies WHERE number = 1; UPDATE replies SET number = 1",
    ],
)
def test_a_journalled_reply_that_was_altered_is_a_run_error_that_names_the_file(
    small_job: Callable[..., Job], tmp_path: Path, altering: str
) -> None:
    job, path = small_job(), tmp_path / "journal.sqlite"
    with closing(Journal(path, job.digest)) as journal:
        dispatcher = dispatcher_for(job, Answering(enrolled), journal)
        dispatcher.ask(enrolment())
        dispatcher.ask(enrolment())
    with closing(sqlite3.connect(path)) as other:
        other.executescript(altering)
    with closing(Journal(path, job.digest)) as journal, pytest.raises(RunError, match=re.escape(str(path))) as error:
        dispatcher_for(job, Answering(enrolled), journal).ask(enrolment())
    assert type(error.value) is RunError


def test_an_answer_to_something_else_is_refused(small_job: Callable[..., Job], tmp_path: Path) -> None:
    def finished(silo: str, request: pb.Request) -> bytes:
        return reply_to(request, silo, finished=pb.Finished())

    job = small_job()
    with pytest.raises(MessageError, match=r"north .*finished, .*enrolled"):
        dispatcher_for(job, Answering(finished), Journal(tmp_path / "j", job.digest)).ask(enrolment())


def test_bytes_are_counted_by_stage_and_silo(small_job: Callable[..., Job], tmp_path: Path) -> None:
    job, events = small_job(), list[RunEvent]()
    dispatcher = Dispatcher(job, Answering(enrolled), Journal(tmp_path / "j", job.digest), Patience(), events.append)
    dispatcher.ask(enrolment())
    counted = [event for event in events if isinstance(event, BytesCounted)]
    assert sorted(event.silo for event in counted) == ["east", "north", "south"]
    for event in counted:
        assert event.stage == "enrolment"
        assert event.sent_bytes == len(enrolled(event.silo, pb.Request(number=1)))
        assert event.received_bytes > 32  # the job's digest and the request


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """A limit of the kernel's for this process: what would make a file larger fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TwiceEach:
    """An `Engine` whose silos find no room for a line at first, and come again: with the same, or with `second`."""

    def __init__(self, log: Path, second: pb.Begun) -> None:
        self._log, self._second = log, second

    def ask(
        self, requests: Mapping[str, bytes], *, deadline_seconds: float, fewest: int, largest: int, accept: Accept
    ) -> None:
        for silo, request in requests.items():
            reply = pb.Reply(
                protocol_version=PROTOCOL_VERSION,
                number=1,
                silo=silo,
                request_digest=hashlib.sha256(request).digest(),
                begun=pb.Begun(),
            )
            with files_up_to(self._log.stat().st_size + 20), pytest.raises(OSError, match=r"Errno 28\b.*audit\.jsonl"):
                accept(silo, reply.SerializeToString())
            reply.begun.CopyFrom(self._second)
            accept(silo, reply.SerializeToString())


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


@pytest.fixture
def dispatcher_of(
    small_job: Callable[..., Job], tmp_path: Path, traffic: Traffic
) -> Iterator[Callable[[pb.Begun], Dispatcher]]:
    """A dispatcher whose audit log is longer than the journal will be, so that it is the first to find no room."""
    job, path = small_job(), tmp_path / "audit.jsonl"
    journal = Journal(tmp_path / "journal.sqlite", job.digest)
    with AuditLog(path, who="aggregator") as log:
        log.record("attends", words=["x" * 500] * 200)
        publish = EventStream(record_in(log), traffic.hear).publish
        yield lambda second: Dispatcher(job, TwiceEach(path, second), journal, Patience(), publish)
    journal.close()


def test_a_reply_that_the_journal_took_and_the_audit_log_did_not_is_counted_once_when_it_comes_again(
    dispatcher_of: Callable[[pb.Begun], Dispatcher], tmp_path: Path, traffic: Traffic
) -> None:
    dispatcher = dispatcher_of(pb.Begun())
    replies = dispatcher.ask(BEGIN)
    assert {row.silo: row.sent_bytes for row in traffic.counted()} == {s: replies[s].ByteSize() for s in BEGIN}
    accepted = [entry.fields["silo"] for entry in entries(tmp_path / "audit.jsonl") if entry.event == "accepts"]
    assert accepted == list(BEGIN)


def test_another_reply_than_the_one_that_the_journal_took_is_refused(
    dispatcher_of: Callable[[pb.Begun], Dispatcher],
) -> None:
    unknown = pb.Begun.FromString(b"\x0a\x01x")  # with a field that this version does not know
    with pytest.raises(MessageError, match=r"north .*request 1 "):
        dispatcher_of(unknown).ask(BEGIN)
