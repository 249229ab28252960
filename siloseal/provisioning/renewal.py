"""A new certificate for a key, and the end of all certificates of a name."""

from datetime import UTC, datetime
from pathlib import Path

from federation.errors import ConfigError
from federation.pki.authority import REVOKED, Authority, Issued
from federation.pki.certificates import Role, bearer_of, read_private_key
from federation.pki.keys import public_key_of
from siloseal.provisioning.credentials import key_path
from siloseal.provisioning.kit import Kit
from siloseal.provisioning.kits import AGGREGATOR, AUTHORITY


def renew(name: str, kits: Path, valid_days: int | None = None) -> list[str]:
    """A certificate for the same key, as long as the last one unless told; what a person is told."""
    authority, all_issued = _issued_to(name, kits)
    last = ([one for one in all_issued if not one.revoked] or all_issued)[-1]
    role, path = last.bearer.role, key_path(kits / name, last.bearer.role)
    lifetime = max(1, (last.bearer.not_after - last.bearer.not_before).days)
    pem = authority.issue(
        role,
        name,
        public_key_of(read_private_key(path)) if path.exists() else last.public_key,
        valid_days=valid_days or lifetime,
        hosts=last.hosts,
    )
    Kit(kits / name).write(f"{role}.crt", pem)
    until, past = bearer_of(pem).not_after, last.bearer.not_after < datetime.now(UTC)
    old = "expired on" if past else "stays valid, unless `siloseal provision revoke` takes back both, until"
    return [
        f"{kits / name / f'{role}.crt'}: for the same key, valid until {until:%Y-%m-%d}; hand it to {name}",
        f"the old one {old} {last.bearer.not_after:%Y-%m-%d}",
    ]


def revoke(name: str, kits: Path) -> list[str]:
    """Take back every certificate of this name; what a person is told.

    Expired ones too: they open no door, but a key that was stolen must not be renewed.
    """
    authority, all_issued = _issued_to(name, kits)
    taken = [one for one in all_issued if not one.revoked]
    for one in taken:
        authority.revoke(one.bearer.serial)
    Kit(kits / AGGREGATOR).write(REVOKED, authority.crl())
    role = all_issued[-1].bearer.role
    lines = [
        f"{name}: {len(taken)} certificates revoked, {len(all_issued) - len(taken)} were already",
        f"copy {kits / AGGREGATOR / REVOKED} to the aggregator's machine: it is read again without a restart",
        f"to let {name} in again, remove {role}.key (and identity.key, if that may be in other hands too) from "
        f"{kits / name} and run `siloseal provision CONFIG`; first a new request, if it keeps its own keys",
    ]
    if role is Role.AGGREGATOR:
        until = max(one.bearer.not_after for one in all_issued)
        lines[1] = (
            f"silos have no list of revoked certificates: they believe this one until {until:%Y-%m-%d}. If its key is "
            "in other hands, provision into a new folder, which makes another authority, and hand out all kits anew"
        )
    return lines


def _issued_to(name: str, kits: Path) -> tuple[Authority, list[Issued]]:
    authority = Authority.load(kits / AUTHORITY)
    found = authority.issued(name)
    if not found:
        known = sorted({one.bearer.name for one in authority.issued()})
        raise ConfigError(f"no certificate was ever issued to {name}; known here: {', '.join(known)}")
    return authority, found
