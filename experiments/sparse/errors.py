"""Errors of sparse sums, below `ProtocolError` in the tree of `federation/errors.py`.

ProtocolError
├── TooManyMessages     more messages in a sparse sum than were announced
├── TableForged         a sum of tables that no messages give
└── TableStuck          messages of a sparse sum that cannot be told apart under this seed
"""

from siloseal.federation.errors import ProtocolError


class TooManyMessages(ProtocolError):
    """The silos sent more messages than the announced capacity. No other seed helps; a larger capacity does."""


class TableForged(ProtocolError):
    """A sum of tables that no messages give: a silo added something else. No other seed helps."""


class TableStuck(ProtocolError):
    """Messages that share their cells, by bad luck or by design, and cannot be told apart. Another seed helps."""
