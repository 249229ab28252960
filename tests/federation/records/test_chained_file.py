"""What the ledger and the audit log share, where a write fails: tried on the audit log. test_ledger.py has the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from siloseal.federation.records.audit import AuditLog, entries, verify_audit
from siloseal.federation.records.chained_file import whole_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


FULL = """
import resource, signal, sys
from pathlib import Path
from siloseal.federation.records.audit import AuditLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
log = AuditLog(path, who="north")
for number in range(4):
    log.record("before", number=number)
whole = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 30, resource.RLIM_INFINITY))         # no room for a line
try:
    log.record("refused")
except OSError:
    print("refused", path.read_bytes() == whole)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))  # room again
log.record("after")
"""


def test_without_room_on_the_disk_nothing_is_torn_and_nothing_is_lost(path: Path) -> None:
    """A real limit of the kernel: the write stops in the middle of the line, as on a full disk."""
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["refused", "True"]
    assert verify_audit(path).lines == 5
    assert [entry.event for entry in entries(path)] == ["before"] * 4 + ["after"]


def test_an_interruption_in_the_middle_of_a_line_does_not_break_the_chain(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with Ctrl-C, after which a service still records that it stopped."""

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with AuditLog(path, who="north") as log:
        log.record("before")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.record("interrupted")
        log.record("stopped")
    assert [entry.event for entry in entries(path)] == ["before", "stopped"]
    assert verify_audit(path).lines == 2


def test_a_line_that_is_just_being_written_does_not_end_in_its_middle(path: Path) -> None:
    """A reader without a lock may see the first half of a line, and the second half when it asks again."""
    path.write_bytes(b"one\ntw")
    reader = whole_lines(path)
    assert next(reader) == b"one\n"
    assert list(reader) == []
    path.write_bytes(b"one\ntwo\n")
    assert list(whole_lines(path)) == [b"one\n", b"two\n"]
