"""A new certificate for a key, and the end of one certificate or of all of a name."""

from datetime import UTC, datetime
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.federation.transport.pki.authority import REVOKED, Authority, Issued
from siloseal.federation.transport.pki.certificates import Role, bearer_of, read_private_key
from siloseal.federation.transport.pki.keys import public_bytes, public_key_of
from siloseal.provisioning.credentials import key_path
from siloseal.provisioning.kit import Kit
from siloseal.provisioning.kits import AGGREGATOR, AUTHORITY


def renew(name: str, kits: Path, valid_days: int | None = None) -> list[str]:
    """Issue a certificate for the same key and hosts, by default as long as the last one; return lines for a person."""
    with Authority.opened(kits / AUTHORITY) as authority:
        last = _in_use(_issued_to(name, authority), kits / name)
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


def revoke(name: str, kits: Path, serial: str | None = None) -> list[str]:
    """Take back every certificate of this name, or the one with this serial number; return lines for a person.

    Expired ones too: they open no door, but a key that was stolen must not be renewed.
    """
    with Authority.opened(kits / AUTHORITY) as authority:
        all_issued = _issued_to(name, authority)
        meant = all_issued if serial is None else [_with_serial(serial, name, all_issued)]
        taken = [one for one in meant if not one.revoked]
        for one in taken:
            authority.revoke(one.bearer.serial)
        Kit(kits / AGGREGATOR).write(REVOKED, authority.crl())
    role = all_issued[-1].bearer.role
    lines = [
        f"{name}: {len(taken)} certificates revoked, {len(meant) - len(taken)} were already",
        f"copy {kits / AGGREGATOR / REVOKED} to the aggregator's machine: it is read again without a restart",
        _what_is_left(name, kits, meant, all_issued),
    ]
    if role is Role.AGGREGATOR:
        until = max(one.bearer.not_after for one in meant)
        lines[1] = (
            f"silos have no list of revoked certificates: they believe this one until {until:%Y-%m-%d}. If its key is "
            "in other hands, provision into a new folder, which makes another authority, and hand out all kits anew"
        )
    return lines


def _what_is_left(name: str, kits: Path, meant: list[Issued], all_issued: list[Issued]) -> str:
    left = [one for one in all_issued if not one.revoked and one not in meant]
    keys = {public_bytes(one.public_key) for one in meant}
    if same := [one for one in left if public_bytes(one.public_key) in keys]:
        serials = ", ".join(f"{one.bearer.serial:x}" for one in same)
        return (
            f"its key gets no other certificate, but some for it stand ({serials}): if the key is in other hands, run "
            f"`siloseal provision revoke {name} --kits {kits}`, which takes back all"
        )
    if left:
        return f"{len(left)} of {name} for other keys stand"
    role = all_issued[-1].bearer.role
    if role is not Role.SILO:
        keys_to_remove, else_first = f"{role}.key", ""
    else:
        keys_to_remove = f"{role}.key and identity.key"
        else_first = "; first a new request, if it makes its own keys"
    return (
        f"to let {name} in again, remove {keys_to_remove} from {kits / name} and then run `siloseal provision CONFIG "
        f"--out {kits}`{else_first}"
    )


def _issued_to(name: str, authority: Authority) -> list[Issued]:
    found = authority.issued(name)
    if not found:
        known = sorted({one.bearer.name for one in authority.issued()})
        raise ConfigError(f"no certificate was ever issued to {name}; known here: {', '.join(known)}")
    return found


def _in_use(all_issued: list[Issued], kit: Path) -> Issued:
    """The certificate in the kit, if it stands; else the newest that does. A newer one may be for other hosts."""
    path = kit / f"{all_issued[-1].bearer.role}.crt"
    stand = [one for one in all_issued if not one.revoked]
    here = path.read_bytes() if path.exists() else b""
    return next((one for one in stand if one.pem == here), (stand or all_issued)[-1])


def _with_serial(serial: str, name: str, all_issued: list[Issued]) -> Issued:
    wanted = serial.lower().replace(":", "").lstrip("0")  # other tools write colons, capitals and a zero in front
    found = next((one for one in all_issued if f"{one.bearer.serial:x}" == wanted), None)
    if found is None:
        known = ", ".join(f"{one.bearer.serial:x}" for one in all_issued)
        raise ConfigError(f"--serial is {serial!r}, which no certificate of {name} has; give one of {known}")
    return found
