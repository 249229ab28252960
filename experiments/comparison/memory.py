"""How much memory this process has had at most, as Linux counts it."""

import re
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_bytes() -> int:
    """The high-water mark of this program. (`getrusage` would count that of the program that started it, too.)"""
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return 1024 * int(kibibytes)


def forget_peak() -> None:
    """From here on the mark counts anew, from what is in use now."""
    CLEAR.write_text("5")
