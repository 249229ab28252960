"""A silo joins the session that its own job, run and start make, and no other."""

from dataclasses import fields, replace
from typing import Any

import pytest

from siloseal.federation.errors import SessionMismatch
from siloseal.federation.job.beacon import BEACON_BYTES
from siloseal.federation.job.releases import Content, Release, Run
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.federation.sums.session import RealDomain, Session
from siloseal.silo.agreed_session import require_agreed

NAMES = ("north", "east", "south")
RELEASE = Release("phase_1", 0, "phase_1", Content.MODEL, PlainSum(), None, RealDomain(7, 1.0), NAMES, 3, None)
RUN = Run(b"b" * BEACON_BYTES, {name: name.encode().ljust(32) for name in NAMES})
START = b"s" * 32
AGREED = RELEASE.session(RUN, START)
CHANGES: dict[str, Any] = {
    "id": bytes(32),
    "roster": ("north", "east", "west"),
    "domain": RealDomain(7, 2.0),
    "scheme": "another",
    "quorum": 2,
    "identities": (bytes(32), *AGREED.identities[1:]),
    "start": bytes(32),
}


def test_the_session_of_the_release_is_joined() -> None:
    require_agreed(AGREED, RELEASE, RUN, START)
    require_agreed(Session.from_wire(AGREED.to_wire()), RELEASE, RUN, START)


@pytest.mark.parametrize("name", [field.name for field in fields(Session)])
def test_a_session_that_differs_in_any_field_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(SessionMismatch, match=rf"\b{name}\b"):
        require_agreed(replace(AGREED, **{name: CHANGES[name]}), RELEASE, RUN, START)


@pytest.mark.parametrize(
    ("release", "run", "start"),
    [
        (replace(RELEASE, round=1), RUN, START),
        (replace(RELEASE, entry="phase_2"), RUN, START),
        (RELEASE, replace(RUN, beacon=b"c" * BEACON_BYTES), START),
        (RELEASE, RUN, b"t" * 32),
    ],
    ids=["another round", "another phase", "another run", "another start"],
)
def test_a_session_of_another_release_run_or_start_is_refused(release: Release, run: Run, start: bytes) -> None:
    with pytest.raises(SessionMismatch):
        require_agreed(release.session(run, start), RELEASE, RUN, START)
