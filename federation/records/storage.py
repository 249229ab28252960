"""Files that a crash cannot tear: the old content or the new, never a mixture. And folders of one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from siloseal.federation.errors import RunError


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write beside the file, flush to the disk, then rename over it. A full disk leaves the old content in place.

    What is beside it has one name always: what a kill leaves there, a key perhaps, is gone with the next write.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


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


def make_folder(folder: Path, *, mode: int = 0o755) -> None:
    """The folder and its parents, each flushed, so that a power cut cannot take a new folder with all that is in it."""
    missing = [folder, *folder.parents][: next(i for i, path in enumerate([folder, *folder.parents]) if path.exists())]
    for path in reversed(missing or [folder]):
        path.mkdir(exist_ok=True, mode=mode)  # one by one: `parents=True` would give the parents another mode
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
