"""The journal of a run: what it keeps, and its file when something is wrong with it, by the codes of SQLite."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from siloseal.aggregator.journal import Journal
from siloseal.federation.errors import CannotWrite, RunError
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION

JOB = b"job".ljust(32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_a_file_that_is_no_database_is_a_run_error(path: Path) -> None:
    path.write_bytes(b"anything but a database".ljust(8192))
    with pytest.raises(RunError) as error:
        Journal(path, JOB)
    assert type(error.value) is RunError


def test_a_file_with_damage_inside_is_a_run_error(path: Path) -> None:
    Journal(path, JOB).close()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(RunError) as error:
        Journal(path, JOB)
    assert type(error.value) is RunError


def test_a_full_file_may_pass_and_an_entry_of_another_process_may_not(path: Path) -> None:
    journal = Journal(path, JOB)
    journal.record(1, "north", b"request", b"reply")
    with pytest.raises(RunError) as twice:
        journal.record(1, "north", b"request", b"reply")
    assert type(twice.value) is RunError
    journal._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(CannotWrite):
        journal.record(2, "north", b"request", bytes(10**6))
    journal.close()


def test_a_file_that_another_process_holds_is_a_run_error(path: Path) -> None:
    journal = Journal(path, JOB)
    journal._database.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RunError) as error:
        journal.record(1, "north", b"request", b"reply")
    assert type(error.value) is RunError
    other.close()
    journal.close()


@pytest.mark.parametrize("version", [0, PROTOCOL_VERSION + 1])
def test_a_file_of_another_version_of_the_protocol_is_a_run_error(path: Path, version: int) -> None:
    journal = Journal(path, JOB)
    journal._database.execute(f"PRAGMA user_version = {version}")
    journal.close()
    with pytest.raises(RunError, match=rf"journal\.sqlite .*version {version} "):
        Journal(path, JOB)


def entry(number: int, silo: str) -> tuple[int, str, bytes, bytes]:
    """A silo's reply to a request, as it is recorded."""
    digest = b"request".ljust(32)
    reply = pb.Reply(number=number, silo=silo, request_digest=digest, sum=b"share")
    return number, silo, digest, reply.SerializeToString()


@pytest.mark.parametrize(
    "altering",
    [
        "DELETE FROM job",
        "UPDATE job SET digest = 'text'",
        "UPDATE job SET run_id = 'text'",
        "UPDATE job SET run_id = x'00'",
        "DROP TABLE job; CREATE TABLE job (something INTEGER)",
        "DROP TABLE replies; CREATE TABLE replies (something INTEGER)",
        "UPDATE replies SET request_digest = x'00'",
        "UPDATE replies SET silo = 'nobody'",
        "UPDATE replies SET reply = 'text'",
        "UPDATE replies SET reply = CAST(x'ff' AS TEXT)",
        "UPDATE replies SET reply = 7",
        "UPDATE results SET content = 'text'",
    ],
)
def test_an_entry_that_was_altered_is_a_run_error_that_names_the_file(path: Path, altering: str) -> None:
    journal = Journal(path, JOB)
    digest = entry(1, "north")[2]
    journal.record(*entry(1, "north"))
    journal.record(*entry(2, "east"))
    journal.result("mean", lambda: b"computed")
    journal.close()
    other = sqlite3.connect(path)
    other.executescript(altering)
    other.close()
    with pytest.raises(RunError, match=re.escape(str(path))) as error:
        read_again(path, {"north": digest, "east": digest})
    assert type(error.value) is RunError


def read_again(path: Path, requests: dict[str, bytes]) -> None:
    """Open a journal and read all of it, as a run does that goes on."""
    with closing(Journal(path, JOB)) as journal:
        for number in (1, 2):
            journal.replies(number, requests)
        journal.result("mean", lambda: b"computed")


def test_what_was_recorded_is_read_back_by_the_next_process(path: Path) -> None:
    journal = Journal(path, JOB)
    run_id, digest = journal.run_id, entry(1, "north")[2]
    journal.record(*entry(1, "north"))
    journal.close()
    with closing(Journal(path, JOB)) as again:
        assert again.run_id == run_id
        assert again.replies(1, {"north": digest, "east": digest}) == {"north": entry(1, "north")[3]}


def test_a_journal_refuses_to_replay_another_request(path: Path) -> None:
    with closing(Journal(path, JOB)) as journal:
        journal.record(*entry(1, "north"))
        with pytest.raises(RunError, match=r"request 1 .*north"):
            journal.replies(1, {"north": b"another"})


def test_a_journal_belongs_to_one_job(path: Path) -> None:
    Journal(path, JOB).close()
    with pytest.raises(RunError, match=str(path.parent)):
        Journal(path, b"\1" * 32)


def test_a_result_is_computed_once(path: Path) -> None:
    calls: list[int] = []

    def compute() -> bytes:
        calls.append(1)
        return b"computed"

    for _ in range(2):
        with closing(Journal(path, JOB)) as journal:
            assert journal.result("fit", compute) == b"computed"
    assert calls == [1]


def test_every_entry_is_flushed_before_anything_rests_on_it(path: Path) -> None:
    journal = Journal(path, JOB)
    journal.record(1, "north", b"request", b"reply")
    other = sqlite3.connect(path)
    assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (1,)
    assert journal._database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    journal.close()
