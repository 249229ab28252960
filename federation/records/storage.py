"""Files that hold the old content or the new, never a mixture, after the worst that they must survive (`Survives`).

A power cut may tear a file that must survive a kill alone. And folders of one process at a time.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from siloseal.federation.errors import RunError


class Survives(Enum):
    """The worst that a file must survive."""

    POWER_CUT = "power cut"
    """The machine stops: what was written is on the disk before anything rests on it. For every real silo."""
    KILL = "kill"
    """The process stops at any moment, and the system writes what it has taken over. For silos that are simulated.

    A flush takes milliseconds, and a round of a thousand silos has thousands of them.
    """


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644, survives: Survives = Survives.POWER_CUT) -> None:
    """Replace the content of a file. An error, such as a full disk, leaves the old content in place.

    To survive a power cut, the new content is written beside the file, flushed to the disk, and renamed over it: the
    file is there at every moment. To survive a kill, nothing is flushed, and the old file is put aside before the new
    one takes its place: after a kill in between there is no file until `recover` is called.

    What is beside it has one name always: what a kill leaves there, a key perhaps, is gone with the next write.
    """
    beside = _beside(path)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            if survives is Survives.POWER_CUT:
                os.fsync(file.fileno())
        if survives is Survives.POWER_CUT:
            beside.replace(path)
        else:
            _exchange(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if survives is Survives.POWER_CUT:
        sync_folder(path.parent)


def _exchange(path: Path) -> None:
    """Put what was written beside a file in its place, without a rename over it, which some file systems flush.

    A kill in between leaves no file, but the old and the new one beside it: see `recover`. An error puts the
    old one back.
    """
    old = _old(path)
    try:
        if path.exists():
            path.rename(old)
        _beside(path).rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        raise
    old.unlink(missing_ok=True)


def recover(path: Path) -> None:
    """End an exchange that a kill interrupted, or an error that also kept the old content from being put back.

    What is beside a file is whole if the old one was put aside for it. After an error nothing is beside it.
    """
    if not path.exists() and _old(path).exists():
        (_beside(path) if _beside(path).exists() else _old(path)).rename(path)
    _old(path).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def _old(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def read_secret(path: Path, *, remedy: str) -> bytes:
    """Return the content of a file that only its owner may read, or `RunError`, with the remedy for a missing one."""
    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read()
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    if mode & 0o077:
        raise RunError(f"{path} can be read by others than its owner; `chmod 600` it, if nobody else has read it")
    return content


def make_folder(folder: Path, *, mode: int = 0o755, survives: Survives = Survives.POWER_CUT) -> None:
    """The folder and its parents, each flushed, so that a power cut cannot take a new folder with all that is in it."""
    missing = [folder, *folder.parents][: next(i for i, path in enumerate([folder, *folder.parents]) if path.exists())]
    for path in reversed(missing or [folder]):
        path.mkdir(exist_ok=True, mode=mode)  # one by one: `parents=True` would give the parents another mode
        if survives is Survives.POWER_CUT:
            sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder: a new or renamed entry survives a power cut only after that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; `RunError` while another process has it. It leaves no file, and a kill releases it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                f"{folder} is in use by another process; let it end, and give the same command again"
            ) from None
        yield
    finally:
        os.close(handle)
