"""Whoever speaks another version is told which side to upgrade."""

import re
from pathlib import Path

import pytest

from siloseal.federation.errors import RunError, VersionMismatch
from siloseal.federation.transport.wire import consortium_pb2, messages_pb2
from siloseal.federation.transport.wire.version import PROTOCOL_VERSION, require_version, require_version_of_file

FEDERATION = Path(__file__).parents[4] / "federation"

LABELS = {
    2: {
        "advertise", "ciphertext half", "commit_ciphertext", "commit_key", "common polynomial", "confirm", "frame",
        "joint key", "key share", "mask", "open", "opened", "reveal_key", "rotation", "sealed key", "sealed share",
        "seed", "seed share", "survivors", "upload",
    },
}  # fmt: skip
"""Labels of the statements that bind to a session, under each version: peers with other labels understand nothing."""


def test_the_same_version_passes() -> None:
    require_version(PROTOCOL_VERSION, here="the aggregator", there="silo north")
    require_version_of_file(PROTOCOL_VERSION, Path("journal.sqlite"))


@pytest.mark.parametrize(
    ("theirs", "older"),
    [(0, "silo north"), (PROTOCOL_VERSION - 1, "silo north"), (PROTOCOL_VERSION + 1, "the aggregator")],
)
def test_the_older_side_is_the_one_to_upgrade(theirs: int, older: str) -> None:
    with pytest.raises(VersionMismatch) as error:
        require_version(theirs, here="the aggregator", there="silo north")
    versions = rf"aggregator .*\b{PROTOCOL_VERSION}\b.*silo north .*\b{theirs}\b"
    assert re.search(rf"{versions}; .*{older}$", str(error.value))


def test_a_file_of_another_version_is_named() -> None:
    with pytest.raises(RunError, match=r"journal\.sqlite"):
        require_version_of_file(PROTOCOL_VERSION + 1, Path("journal.sqlite"))


def test_whatever_begins_or_answers_something_carries_the_version() -> None:
    carriers = {
        *(message.name for message in consortium_pb2.DESCRIPTOR.message_types_by_name.values()
          if "protocol_version" in message.fields_by_name),
        *(message.name for message in messages_pb2.DESCRIPTOR.message_types_by_name.values()
          if "protocol_version" in message.fields_by_name),
    }  # fmt: skip
    assert carriers == {
        "OfferRequest", "JobOffer", "Attendance", "StatusRequest", "StatusReport", "Request", "Reply", "LastReply",
    }  # fmt: skip


def test_what_binds_to_a_session_changes_with_the_version() -> None:
    sources = (path.read_text(encoding="utf-8") for path in FEDERATION.rglob("*.py"))
    labels = {label for source in sources for label in re.findall(r'\.bind\(\s*"([^"]*)"', source)}
    assert labels == LABELS[PROTOCOL_VERSION]
