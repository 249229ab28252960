"""Every accepted reply, and every result that was dear to compute, on the disk before anything rests on it.

The coordinator is deterministic given the replies. So a run that was interrupted is run again from the start: what
the journal holds is replayed, and the run goes on where it stopped. SQLite with a write-ahead log and full syncing
makes each entry survive a power cut.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from federation.errors import RunError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS job (digest BLOB NOT NULL, run_id BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS replies (
    number INTEGER, silo TEXT, request_digest BLOB NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (number, silo));
CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Database errors in words. Only a file that is no database is beyond repair; after the rest the run goes on."""
    try:
        yield
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.IntegrityError) or "locked" in str(error):
            raise RunError(f"{path} is in use by another process; a run goes on in one process at a time") from error
        if "not a database" in str(error) or "malformed" in str(error):
            raise RunError(f"{path} is damaged ({error}); restore it from a backup, or begin another run") from error
        raise RunError(f"{path}: {error}; free some space or mend access, and the same command continues") from error


class Journal:
    """One run's journal. Opening it with another job than it began with is refused."""

    def __init__(self, path: Path, job_digest: bytes) -> None:
        self._path = path
        with _explained(path):
            path.touch(mode=0o600)  # it holds what silos sent in clear
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.executescript(_SCHEMA)
            row = self._database.execute("SELECT digest, run_id FROM job").fetchone()
            if row is None:
                row = (job_digest, os.urandom(32))
                self._database.execute("INSERT INTO job VALUES (?, ?)", row)
        if row[0] != job_digest:
            self.close()
            raise RunError(
                f"{path.parent} was begun with another job; run the same config again, or choose another run folder"
            )
        self.run_id: bytes = row[1]

    def replies(self, number: int, requests: Mapping[str, bytes]) -> dict[str, bytes]:
        """What the journal has of the replies to these requests."""
        with _explained(self._path):
            rows = self._database.execute(
                "SELECT silo, request_digest, reply FROM replies WHERE number = ?", (number,)
            ).fetchall()
        for silo, request_digest, _ in rows:
            if silo not in requests or hashlib.sha256(requests[silo]).digest() != request_digest:
                raise RunError(
                    f"request {number} to {silo} differs from the journal's: this run was begun by another version or "
                    "on other public data; choose another run folder"
                )
        return {silo: reply for silo, _, reply in rows}

    def record(self, number: int, requests: Mapping[str, bytes], replies: Mapping[str, bytes]) -> None:
        """All of these replies, or none."""
        rows = [(number, silo, hashlib.sha256(requests[silo]).digest(), reply) for silo, reply in replies.items()]
        with _explained(self._path), self._database:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO replies VALUES (?, ?, ?, ?)", rows)

    def result(self, name: str, compute: Callable[[], bytes]) -> bytes:
        """A result that is computed once in the run's life."""
        with _explained(self._path):
            row = self._database.execute("SELECT content FROM results WHERE name = ?", (name,)).fetchone()
        if row is not None:
            return bytes(row[0])
        content = compute()
        with _explained(self._path):
            self._database.execute("INSERT INTO results VALUES (?, ?)", (name, content))
        return content

    def close(self) -> None:
        """Release the file."""
        self._database.close()
