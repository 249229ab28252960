"""The one session that what a silo has prepared may go into: all of it follows from the job."""

from dataclasses import fields

from siloseal.federation.errors import SessionMismatch
from siloseal.federation.job.releases import Release, Run
from siloseal.federation.sums.session import Session

_HINTS = {
    "id": "; each sum has a session of its own",
    "identities": "; a silo's identity.key was lost or replaced",
    "start": "; this silo was given another model, other totals or another average to start from than the others",
}


def require_agreed(session: Session, release: Release, run: Run, start: bytes) -> None:
    """`SessionMismatch` unless the session is just what the release says: scheme, domain, everyone on its roster."""
    agreed = release.session(run, start)
    if session != agreed:
        names = [field.name for field in fields(agreed)]
        differing = [name for name in names if getattr(session, name) != getattr(agreed, name)]
        hint = _HINTS.get(" ".join(differing), "")
        raise SessionMismatch(
            f"the aggregator asks for a sum whose {', '.join(differing)} are not what this silo's job and roster "
            f"say{hint}"
        )
