"""Every accepted reply, and every result that was dear to compute, on the disk before anything rests on it.

The coordinator is deterministic given the replies. So a run that was interrupted is run again from the start: what
the journal holds is replayed, and the run goes on where it stopped. SQLite with a write-ahead log and full syncing
makes each entry survive a power cut.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siloseal.federation.errors import CannotWrite, RunError
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version_of_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS job (digest BLOB NOT NULL, run_id BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS replies (
    number INTEGER, silo TEXT, request_digest BLOB NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (number, silo));
CREATE TABLE IF NOT EXISTS closed (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Database errors in words. Only a file that is no database is beyond repair; after the rest the run goes on."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary one, without what SQLite adds to it
        if isinstance(error, sqlite3.IntegrityError) or code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise RunError(f"{path} is in use by another process; a run goes on in one process at a time") from error
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise RunError(f"{path} is damaged ({error}); restore it from a backup, or begin another run") from error
        raise CannotWrite(f"{path}: {error}; free some space or mend access, and the run goes on") from error


class Journal:
    """One run's journal. Opening it with another job than it began with is refused."""

    def __init__(self, path: Path, job_digest: bytes) -> None:
        self._path = path
        self._one_at_a_time = threading.Lock()
        with _explained(path):
            path.touch(mode=0o600)  # it holds what silos sent in clear
            # Replies come in the threads that serve the silos, one at a time through the lock.
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.executescript(_SCHEMA)
            row = self._database.execute("SELECT digest, run_id FROM job").fetchone()
            if row is None:
                row = (job_digest, os.urandom(32))
                self._database.execute(f"PRAGMA user_version = {PROTOCOL_VERSION}")
                self._database.execute("INSERT INTO job VALUES (?, ?)", row)
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
        try:
            require_version_of_file(version, path)
            if row[0] != job_digest:
                raise RunError(
                    f"{path.parent} was begun with another job; run the same config again, or choose another folder"
                )
        except RunError:
            self.close()
            raise
        self.run_id: bytes = row[1]

    def replies(self, number: int, requests: Mapping[str, bytes]) -> dict[str, bytes]:
        """What the journal has of the replies to these requests, which are given by their digests."""
        rows = self._execute("SELECT silo, request_digest, reply FROM replies WHERE number = ?", number)
        for silo, request_digest, _ in rows:
            if requests.get(silo) != request_digest:
                raise RunError(
                    f"request {number} to {silo} differs from the journal's: this run was begun by another version or "
                    "on other public data; choose another run folder"
                )
        return {silo: reply for silo, _, reply in rows}

    def record(self, number: int, silo: str, request_digest: bytes, reply: bytes) -> None:
        """A reply is accepted, whatever happens next."""
        self._execute("INSERT INTO replies VALUES (?, ?, ?, ?)", number, silo, request_digest, reply)

    def end(self, number: int) -> None:
        """A request is over: who has not answered it by now counts as silent, after a restart too."""
        self._execute("INSERT INTO closed VALUES (?)", number)

    def has_ended(self, number: int) -> bool:
        """Whether the run went on without those who had not answered."""
        return bool(self._execute("SELECT 1 FROM closed WHERE number = ?", number))

    def result(self, name: str, compute: Callable[[], bytes]) -> bytes:
        """A result that is computed once in the run's life."""
        for (content,) in self._execute("SELECT content FROM results WHERE name = ?", name):
            return bytes(content)
        content = compute()
        self._execute("INSERT INTO results VALUES (?, ?)", name, content)
        return content

    def _execute(self, statement: str, *values: int | str | bytes) -> list[Any]:
        with _explained(self._path), self._one_at_a_time:
            return self._database.execute(statement, values).fetchall()

    def close(self) -> None:
        """Release the file."""
        self._database.close()
