"""Linux's inotify, as far as a test needs it: to act when a process writes to a file, without looking again and again."""

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_IN_MODIFY = 0x2


def at_the_next_write(path: Path, then: Callable[[], None]) -> None:
    """Call `then`, in a thread of its own, when this file is next written to. It is watched when this returns."""
    descriptor = _LIBC.inotify_init1(os.O_CLOEXEC)
    if descriptor < 0 or _LIBC.inotify_add_watch(descriptor, os.fsencode(path), _IN_MODIFY) < 0:
        raise OSError(ctypes.get_errno(), "inotify", str(path))

    def wait() -> None:
        os.read(descriptor, 4096)
        os.close(descriptor)
        then()

    threading.Thread(target=wait, daemon=True).start()
