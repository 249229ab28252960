"""Where an event of a deployed process goes, besides to the subscribers in that process."""

from typing import ClassVar


class Audited:
    """Base of events that go into the audit log under their name, and are then shown as a line."""

    NAME: ClassVar[str]


class Shown:
    """Base of events that are shown as a line and are not in the audit log: progress, and waiting."""

    NAME: ClassVar[str]


class Internal:
    """Base of events that never leave their process: they carry weights, or what no operator needs a line for."""
