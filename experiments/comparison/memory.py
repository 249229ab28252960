"""Peak memory of this process, as Linux counts it."""

import re
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_bytes() -> int:
    """Return this program's high-water mark. (`getrusage` would count that of the program that started it, too.)"""
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return 1024 * int(kibibytes)


def forget_peak() -> None:
    """Reset the mark, so that it counts anew from what is in use now."""
    CLEAR.write_text("5")
