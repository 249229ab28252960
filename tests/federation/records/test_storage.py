"""Files that a crash cannot tear."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from siloseal.federation.errors import RunError
from siloseal.federation.records.storage import Survives, read_secret, recover, write_atomically


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


@pytest.mark.parametrize("call", [1, 2], ids=["when the old one is aside", "when the new one is in place"])
def test_a_kill_of_a_simulation_between_two_contents_leaves_the_new_one(tmp_path: Path, call: int) -> None:
    """Nothing is renamed over another file there, so for a moment there is none. A second `rename` is not reached."""
    code = (
        "import os, pathlib, signal, sys; from siloseal.federation.records.storage import Survives, write_atomically; "
        "rename, calls = pathlib.Path.rename, []\n"
        "def dying(*paths):\n"
        "    rename(*paths)\n"
        "    calls.append(paths)\n"
        f"    len(calls) == {call} and os.kill(os.getpid(), signal.SIGKILL)\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "write_atomically(file, b'old', mode=0o600, survives=Survives.KILL)\n"
        "pathlib.Path.rename = dying\n"
        "write_atomically(file, b'new', mode=0o600, survives=Survives.KILL)\n"
    )
    file = tmp_path / "reply.bin"
    killed = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert file.exists() == (call == 2)
    recover(file)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"new", [file])
    recover(file)
    assert file.read_bytes() == b"new"


def fail_after(renames: int, patched: pytest.MonkeyPatch) -> None:
    """The file system takes a few more renames."""
    rename, calls = Path.rename, list[Path]()

    def failing(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == renames + 1:
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    patched.setattr(Path, "rename", failing)


@pytest.mark.parametrize("renames", [0, 1], ids=["the old one stays", "the old one is put back"])
def test_an_error_between_two_contents_of_a_simulation_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    file = tmp_path / "state"
    write_atomically(file, b"old", survives=Survives.KILL)
    fail_after(renames, monkeypatch)
    with pytest.raises(OSError, match="Input/output"):
        write_atomically(file, b"new", survives=Survives.KILL)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"old", [file])


def test_what_was_being_written_for_the_first_time_is_not_taken_for_whole(tmp_path: Path) -> None:
    (tmp_path / ".state.part").write_bytes(b"ha")
    recover(tmp_path / "state")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("survives", Survives)
def test_a_write_replaces_the_whole_content_whatever_it_must_survive(tmp_path: Path, survives: Survives) -> None:
    file = tmp_path / "state"
    for content in (b"a long old content", b"new"):
        write_atomically(file, content, mode=0o600, survives=survives)
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"new", [file])
    assert file.stat().st_mode & 0o777 == 0o600


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
