"""A party's keys and certificates in its kit: what is made, and when what is there stays.

Kits are handed out, and then a careful authority deletes the keys that it made for others. So a key that is not here
is not lost: while a certificate for it stands, its bearer has it, and making another would lock the bearer out. New
keys come only to whoever never had any, or had all certificates revoked.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.pki.authority import Authority, Issued
from siloseal.federation.transport.pki.certificates import Role, read_private_key
from siloseal.federation.transport.pki.keys import new_private_key, public_bytes, public_key_of
from siloseal.provisioning.kit import Kit
from siloseal.provisioning.request import IDENTITY_KEY


def key_path(folder: Path, role: Role) -> Path:
    """The path of a kit's TLS key."""
    return folder / f"{role}.key"


def standing(authority: Authority, name: str) -> list[Issued]:
    """The certificates of this name that were not taken back, the newest last."""
    return [one for one in authority.issued(name) if not one.revoked]


def identity_of(kit: Kit, name: str, authority: Authority, known: Mapping[str, str]) -> str:
    """A silo's public identity key, as hexadecimal digits. Ask before `certify`, which makes the other key."""
    path = kit.folder / IDENTITY_KEY
    fresh = not key_path(kit.folder, Role.SILO).exists() and not standing(authority, name)
    if not path.exists() and name in known and not fresh:
        kit.notes.append(
            f"{path.name} is not here: {name} has it. If it is lost or in other hands, run `siloseal provision revoke "
            f"{name} --kits {kit.folder.parent}`, remove {key_path(path.parent, Role.SILO).name} here if it is there, "
            "and then run this again: only then a new one is made"
        )
        return known[name]
    (kit.kept if path.exists() else kit.made).append(IDENTITY_KEY)
    return Identity.in_file(name, path).public.hex()


def certify(
    kit: Kit,
    authority: Authority,
    role: Role,
    name: str,
    *,
    valid_days: int,
    hosts: Iterable[str] = (),
    requested: ec.EllipticCurvePublicKey | None = None,
) -> Issued:
    """The party's certificate, in its kit: the newest that stands for its key and hosts, or else a new one."""
    wanted = {_plain(host) for host in hosts}
    public_key = requested or _own_key(kit, authority, role, name)
    fitting = _fitting(authority, name, public_key, wanted)
    if not fitting:
        authority.issue(role, name, public_key, valid_days=valid_days, hosts=wanted)
        fitting = _fitting(authority, name, public_key, wanted)
    newest = fitting[-1]
    kit.write(f"{role}.crt", newest.pem)
    if newest.bearer.not_after < datetime.now(UTC):
        kit.notes.append(f"{role}.crt has expired; run `siloseal provision renew {name} --kits {kit.folder.parent}`")
    _note_other_keys(kit, authority, name, public_key)
    return newest


def _note_other_keys(kit: Kit, authority: Authority, name: str, key: ec.EllipticCurvePublicKey) -> None:
    """Note that there are other keys: whoever changed keys may think that the old one opens no door any more."""
    now = datetime.now(UTC)
    for one in standing(authority, name):
        if public_bytes(one.public_key) != public_bytes(key) and one.bearer.not_after >= now:
            kit.notes.append(
                f"{name} has a certificate for another key too, valid until {one.bearer.not_after:%Y-%m-%d}. If nobody "
                f"needs it, take it back: `siloseal provision revoke {name} --serial {one.bearer.serial:x} "
                f"--kits {kit.folder.parent}`"
            )


def _own_key(kit: Kit, authority: Authority, role: Role, name: str) -> ec.EllipticCurvePublicKey:
    path = key_path(kit.folder, role)
    if not path.exists() and (stand := standing(authority, name)):
        kit.notes.append(
            f"{path.name} is not here: {name} has it. If it is lost, run `siloseal provision revoke {name} "
            f"--kits {kit.folder.parent}` and then this again"
        )
        return stand[-1].public_key
    kit.write_once(path.name, new_private_key, mode=0o600)
    return public_key_of(read_private_key(path))


def _fitting(authority: Authority, name: str, key: ec.EllipticCurvePublicKey, hosts: set[str]) -> list[Issued]:
    return [
        one
        for one in standing(authority, name)
        if public_bytes(one.public_key) == public_bytes(key) and set(one.hosts) == hosts
    ]


def _plain(host: str) -> str:
    """An address as certificates give it back: there are many ways to write one of IPv6."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host
