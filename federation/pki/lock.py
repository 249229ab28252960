"""One process at a time in a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from federation.errors import RunError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """`RunError` while another process is here. The lock leaves no file behind, and a kill releases it."""
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
