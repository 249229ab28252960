"""How a silo says no: in words that tell the aggregator nothing of the data, and in full in its own log."""

import os
from pathlib import Path

from siloseal.federation.errors import MessageError, PolicyRefused, SessionMismatch, VersionMismatch, WrongRound
from siloseal.federation.transport.wire import messages_pb2 as pb
from siloseal.federation.transport.wire.error_codes import code_of


def refusal(error: Exception, log: Path, details: str = "") -> pb.Refusal:
    """The reason in words. Those of other errors may hold values or names from the data, so they stay in the silo."""
    with os.fdopen(os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600), "a") as file:
        file.write(f"{details or f'{type(error).__name__}: {error}'}\n")
    harmless = isinstance(error, MessageError | VersionMismatch | SessionMismatch | WrongRound | PolicyRefused)
    words = str(error) if harmless else f"{type(error).__name__}; the reason is in the silo's own refusals.log"
    return pb.Refusal(code=code_of(error), message=words)
