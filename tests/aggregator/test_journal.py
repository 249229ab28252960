"""The journal's file when something is wrong with it: what SQLite says decides, by its codes."""

import sqlite3
from pathlib import Path

import pytest

from siloseal.aggregator.journal import Journal
from siloseal.federation.errors import CannotWrite, RunError
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
