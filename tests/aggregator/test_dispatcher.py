"""What the aggregator does with a reply when a disk fills up between two of its files."""

import hashlib
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from siloseal.aggregator.dispatcher import Dispatcher, Patience
from siloseal.aggregator.journal import Journal
from siloseal.aggregator.traffic import Traffic
from siloseal.federation.errors import MessageError
from siloseal.federation.job.job import Job
from siloseal.federation.records.audit import AuditLog, entries
from siloseal.federation.run_events.lines import record_in
from siloseal.federation.run_events.stream import EventStream
from siloseal.federation.transport.engine import Accept
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

BEGIN = dict.fromkeys(("north", "east", "south"), pb.Request(begin=pb.Begin()))


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
def talk_of(
    small_job: Callable[..., Job], tmp_path: Path, traffic: Traffic
) -> Iterator[Callable[[pb.Begun], Dispatcher]]:
    """With an audit log that is longer than the journal will be, so that it is the first to find no room."""
    job, path = small_job(), tmp_path / "audit.jsonl"
    journal = Journal(tmp_path / "journal.sqlite", job.digest)
    with AuditLog(path, who="aggregator") as log:
        log.record("attends", words=["x" * 500] * 200)
        publish = EventStream(record_in(log), traffic.hear).publish
        yield lambda second: Dispatcher(job, TwiceEach(path, second), journal, Patience(), publish)
    journal.close()


def test_a_reply_that_the_journal_took_and_the_audit_log_did_not_is_counted_once_when_it_comes_again(
    talk_of: Callable[[pb.Begun], Dispatcher], tmp_path: Path, traffic: Traffic
) -> None:
    talk = talk_of(pb.Begun())
    replies = talk.ask(BEGIN)
    assert {row.silo: row.sent_bytes for row in traffic.counted()} == {s: replies[s].ByteSize() for s in BEGIN}
    accepted = [entry.fields["silo"] for entry in entries(tmp_path / "audit.jsonl") if entry.event == "accepts"]
    assert accepted == list(BEGIN)


def test_another_reply_than_the_one_that_the_journal_took_is_refused(
    talk_of: Callable[[pb.Begun], Dispatcher],
) -> None:
    unknown = pb.Begun.FromString(b"\x0a\x01x")  # with a field that this version does not know
    with pytest.raises(MessageError, match=r"north .*request 1 "):
        talk_of(unknown).ask(BEGIN)
