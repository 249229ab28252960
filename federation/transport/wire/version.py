"""The version of the protocol, which every message between the parties carries."""

from siloseal.federation.errors import RunError, VersionMismatch

PROTOCOL_VERSION = 2
"""Version that rises with every change after which an older peer, or an older file of a run, would be misunderstood.

Parties from before there were versions send none, which reads as 0.
"""


def require_version(theirs: int, *, here: str, there: str) -> None:
    """`VersionMismatch` where the peer speaks another version; its words say which side to upgrade."""
    if theirs == PROTOCOL_VERSION:
        return
    older = there if theirs < PROTOCOL_VERSION else here
    raise VersionMismatch(
        f"{here} speaks version {PROTOCOL_VERSION} of the protocol, {there} version {theirs}; "
        f"upgrade siloseal at {older}"
    )


def require_version_of_file(theirs: int, path: object) -> None:
    """`RunError` where a file of a run was written under another version."""
    if theirs != PROTOCOL_VERSION:
        raise RunError(
            f"{path} was written under version {theirs} of the protocol, and this siloseal speaks version "
            f"{PROTOCOL_VERSION}; end the run with the siloseal that began it, or begin another run"
        )
