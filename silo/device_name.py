"""Names of the devices on which a silo can train. The command line offers them, too, and must load nothing for it."""

from typing import Literal

DeviceName = Literal["auto", "cpu", "cuda", "mps"]
"""Device on which a silo computes."""
