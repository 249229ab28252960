"""Every accepted reply, and every result that was dear to compute, on the disk before anything rests on it.

The coordinator is deterministic given the replies. So a run that was interrupted is run again from the start: what
the journal holds is replayed, and the run goes on where it stopped. SQLite with a write-ahead log and full syncing
makes each entry survive a power cut. An entry that is not as it was written ends the run, in words that name the file.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siloseal.federation.errors import CannotWrite, RunError
from siloseal.federation.job.agreement import RUN_ID_BYTES
from siloseal.federation.records.storage import Survives
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version_of_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS job (digest BLOB NOT NULL, run_id BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS replies (
    number INTEGER, silo TEXT, request_digest BLOB NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (number, silo));
CREATE TABLE IF NOT EXISTS closed (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
_SYNCHRONOUS = {Survives.POWER_CUT: "FULL", Survives.KILL: "NORMAL"}
"""How SQLite flushes. With a write-ahead log, NORMAL loses the last entries in a power cut, and never tears one."""
_RESTORE = "restore it from a backup, or begin another run in another folder"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA)
"""Codes of a file that is no database, or not this one: a missing table or column is a plain SQLITE_ERROR."""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Database errors in words. Only a file that is no journal is beyond repair; after the rest the run goes on."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary one, without what SQLite adds to it
        no_text = isinstance(error, sqlite3.OperationalError) and code == 0  # bytes of a text that are not UTF-8
        if isinstance(error, sqlite3.IntegrityError) or code in _BUSY:
            raise RunError(f"{path} is in use by another process; a run goes on in one process at a time") from error
        if no_text or code in _DAMAGED:
            found = "a text that is not UTF-8" if no_text else str(error)
            raise RunError(f"{path}, the run's journal, is damaged ({found}); {_RESTORE}") from error
        raise CannotWrite(f"{path}: {error}; free some space or mend access, and the run goes on") from error


class Journal:
    """One run's journal. Opening it with another job than it began with is refused."""

    def __init__(self, path: Path, job_digest: bytes, survives: Survives = Survives.POWER_CUT) -> None:
        self._path = path
        self._one_at_a_time = threading.Lock()
        with _explained(path):
            path.touch(mode=0o600)  # it holds what silos sent in clear
            # Replies come in the threads that serve the silos, one at a time through the lock.
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(f"PRAGMA synchronous={_SYNCHRONOUS[survives]}")
            self._database.executescript(_SCHEMA)
        try:
            self.run_id = self._begun(job_digest)
        except RunError:
            self.close()
            raise

    def _begun(self, job_digest: bytes) -> bytes:
        """The id of the run that this journal is of: a new one in a new journal."""
        row = next(iter(self._execute("SELECT digest, run_id FROM job")), None)
        if row is None:
            if self._execute("SELECT 1 FROM replies LIMIT 1"):
                raise self.damaged("it has replies, but not the job that they belong to")
            row = (job_digest, os.urandom(RUN_ID_BYTES))
            self._execute(f"PRAGMA user_version = {PROTOCOL_VERSION}")
            self._execute("INSERT INTO job VALUES (?, ?)", *row)
        ((version,),) = self._execute("PRAGMA user_version")
        require_version_of_file(version, self._path)
        if not all(isinstance(value, bytes) for value in row) or len(row[1]) != RUN_ID_BYTES:
            raise self.damaged("its job or its run's id is not as it was written")
        if row[0] != job_digest:
            raise RunError(
                f"{self._path.parent} was begun with another job; run the same config again, or choose another folder"
            )
        return bytes(row[1])

    def replies(self, number: int, requests: Mapping[str, bytes]) -> dict[str, bytes]:
        """The replies that the journal has to these requests, which are given by their digests."""
        rows = self._execute("SELECT silo, request_digest, reply FROM replies WHERE number = ?", number)
        for silo, request_digest, reply in rows:
            if requests.get(silo) != request_digest:
                raise RunError(
                    f"request {number} to {silo} differs from the one in {self._path}: this run was begun by another "
                    "version or on other public data, or the journal was altered; restore what has changed, or begin "
                    "another run in another folder"
                )
            if not isinstance(reply, bytes):
                raise self.damaged(f"the reply of {silo} to request {number} is not as it was written")
        return {silo: reply for silo, _, reply in rows}

    def record(self, number: int, silo: str, request_digest: bytes, reply: bytes) -> None:
        """Keep a reply. From here on it is accepted, whatever happens next."""
        self._execute("INSERT INTO replies VALUES (?, ?, ?, ?)", number, silo, request_digest, reply)

    def end(self, number: int) -> None:
        """Close a request. Who has not answered it by now counts as silent, after a restart too."""
        self._execute("INSERT INTO closed VALUES (?)", number)

    def has_ended(self, number: int) -> bool:
        """Whether the run went on without those who had not answered."""
        return bool(self._execute("SELECT 1 FROM closed WHERE number = ?", number))

    def result(self, name: str, compute: Callable[[], bytes]) -> bytes:
        """A result that is computed once in the run's life."""
        for (content,) in self._execute("SELECT content FROM results WHERE name = ?", name):
            if not isinstance(content, bytes):
                raise self.damaged(f"the {name} is not as it was written")
            return content
        content = compute()
        self._execute("INSERT INTO results VALUES (?, ?)", name, content)
        return content

    def _execute(self, statement: str, *values: int | str | bytes) -> list[Any]:
        with _explained(self._path), self._one_at_a_time:
            return self._database.execute(statement, values).fetchall()

    def damaged(self, found: str) -> RunError:
        """The error that names this journal and says what was found in it."""
        return RunError(f"{self._path}, the run's journal, is damaged: {found}; {_RESTORE}")

    def close(self) -> None:
        """Release the file."""
        self._database.close()
