"""Files that a crash cannot tear."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from siloseal.federation.errors import RunError
from siloseal.federation.records.storage import read_secret, write_atomically


def test_what_a_kill_left_beside_a_file_is_gone_after_the_next_write(tmp_path: Path) -> None:
    """It may be a key. A process is killed between the writing and the renaming."""
    code = (
        "import os, pathlib, signal, sys; from siloseal.federation.records.storage import write_atomically; "
        "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        "write_atomically(pathlib.Path(sys.argv[1]), b'secret', mode=0o600)"
    )
    file = tmp_path / "reply.bin"
    killed = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert (left.read_bytes(), left.stat().st_mode & 0o777) == (b"secret", 0o600)
    write_atomically(file, b"harmless", mode=0o600)
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == b"harmless"


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "state"
    write_atomically(file, b"old", mode=0o600)
    write_atomically(file, b"new", mode=0o600)
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_content_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own /dev/full would do, but a rename needs a real file: so the failing call is the flush."""
    file = tmp_path / "state"
    write_atomically(file, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, b"new" * 1000)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_secret_is_read_if_only_its_owner_may(tmp_path: Path) -> None:
    file = tmp_path / "key"
    with pytest.raises(RunError, match="copy it"):
        read_secret(file, remedy="copy it from the kit")
    write_atomically(file, b"secret", mode=0o600)
    assert read_secret(file, remedy="") == b"secret"
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(RunError, match="chmod 600"):
            read_secret(file, remedy="")
