"""The consortium's authority: it says who is who, and takes it back.

Its folder is all that it has:

    ca.key          the private key; whoever has it can make certificates in anybody's name
    ca.crt          the certificate that every party trusts, and no other
    revoked.pem     the signed list of revoked certificates
    issued/         every certificate ever issued, as NAME.SERIAL.pem
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from siloseal.federation.errors import CertificateError, ConfigError, RunError
from siloseal.federation.records.storage import locked, make_folder, sync_folder, write_atomically
from siloseal.federation.secret import Secret
from siloseal.federation.transport.pki import profiles
from siloseal.federation.transport.pki.certificates import (
    NAME,
    Bearer,
    Role,
    bearer_of,
    number_of,
    parse_certificate,
    parse_revocations,
    read_certificate,
    read_private_key,
    require_issuer,
    require_pair,
)
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, public_bytes, require_p256

KEY, CERTIFICATE, REVOKED, ISSUED = "ca.key", "ca.crt", "revoked.pem", "issued"


@dataclass(frozen=True)
class Issued:
    """A certificate that the authority has made, and whether it stands by it."""

    bearer: Bearer
    pem: bytes
    revoked: bool

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey:
        """The key that the certificate is for."""
        return require_p256(parse_certificate(self.pem).public_key())

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts at which its bearer may be dialled; only an aggregator has any."""
        return profiles.hosts_of(parse_certificate(self.pem))


class Authority(Secret):
    """The authority in a folder. Every change is on the disk before its method returns."""

    __slots__ = ("_certificate", "_folder", "_key", "certificate", "name")

    def __init__(self, folder: Path, certificate: bytes, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self._folder, self._key, self._certificate = folder, key, parse_certificate(certificate)
        named = self._certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        self.name = str(named[0].value) if named else ""

    @classmethod
    def create(cls, name: str, folder: Path, *, now: datetime | None = None) -> Self:
        """A new authority, in a folder that must not be there yet.

        It is written beside and then renamed: after a kill there is a whole authority or none.
        """
        _require_name(name)
        if folder.exists():
            raise RunError(f"{folder} is there already; load the authority in it, or give another folder")
        now, beside, pem = now or datetime.now(UTC), folder.with_name(f".{folder.name}.part"), new_private_key()
        if beside.exists():
            shutil.rmtree(beside)  # of a creation that was killed: nothing was ever issued with it
        key = parse_private_key(pem, "the new key")
        certificate = profiles.sign_authority(name, key, now)
        make_folder(beside / ISSUED, mode=0o700)
        beside.chmod(0o700)
        write_atomically(beside / KEY, pem, mode=0o600)
        write_atomically(beside / CERTIFICATE, certificate.public_bytes(Encoding.PEM))
        revoked = profiles.sign_revocations(certificate, key, [], number=1, now=now)
        write_atomically(beside / REVOKED, revoked.public_bytes(Encoding.PEM))
        beside.rename(folder)
        sync_folder(folder.parent)
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The authority in this folder, with key, certificate and list checked against each other."""
        _require_there(folder)
        certificate, key = read_certificate(folder / CERTIFICATE), read_private_key(folder / KEY)
        require_pair(certificate, key)
        authority = cls(folder, certificate, parse_private_key(key, str(folder / KEY)))
        authority.crl()
        return authority

    @classmethod
    @contextmanager
    def opened(cls, folder: Path) -> Iterator[Self]:
        """The same authority, locked for this process while it lasts: of two changes at once, one could be lost."""
        _require_there(folder)
        with locked(folder):
            yield cls.load(folder)

    def issue(
        self,
        role: Role,
        name: str,
        key: ec.EllipticCurvePublicKey | x509.CertificateSigningRequest,
        *,
        valid_days: int,
        hosts: Iterable[str] = (),
        now: datetime | None = None,
    ) -> bytes:
        """A certificate, as PEM, for the bearer of this key. Of a request only the key counts, not what it asks for."""
        _require_name(name)
        public_key, now = _requested_key(key), now or datetime.now(UTC)
        self.require_never_revoked(name, public_key)
        end = self._certificate.not_valid_after_utc
        if now >= end:
            raise CertificateError(
                f"the authority of {self.name} expired on {end:%Y-%m-%d}; provision into a new folder, which makes "
                "another authority, and hand out all kits anew"
            )
        bearer = Bearer(
            consortium=self.name,
            role=role,
            name=name,
            serial=x509.random_serial_number(),
            not_before=now - profiles.CLOCK_SKEW,
            not_after=min(now + timedelta(days=valid_days), end),  # after the authority nobody would believe it
        )
        signed = profiles.sign_bearer(self._certificate, self._key, bearer, public_key, hosts)
        pem = signed.public_bytes(Encoding.PEM)
        write_atomically(self._folder / ISSUED / f"{name}.{bearer.serial:x}.pem", pem)
        return pem

    def issued(self, name: str | None = None) -> list[Issued]:
        """Every certificate issued so far, or those of one name; the newest comes last."""
        revoked = {entry.serial_number for entry in self._revocations()}
        paths = sorted((self._folder / ISSUED).glob("*.pem"), key=lambda path: path.stat().st_mtime_ns)
        pairs = [(bearer_of(pem), pem) for pem in map(self._read_issued, paths)]
        found = [
            Issued(bearer, pem, revoked=bearer.serial in revoked)
            for bearer, pem in pairs
            if name is None or name == bearer.name
        ]
        return sorted(found, key=lambda one: one.bearer.not_before)

    def revoke(self, serial: int, *, now: datetime | None = None) -> None:
        """Take a certificate back. It cannot be undone; a second time changes nothing."""
        if serial not in {one.bearer.serial for one in self.issued()}:
            raise CertificateError(
                f"no certificate with serial {serial:x} was issued here; see {self._folder / ISSUED}"
            )
        known, now = self._revocations(), now or datetime.now(UTC)
        if known.get_revoked_certificate_by_serial_number(serial) is not None:
            return
        entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
        signed = profiles.sign_revocations(
            self._certificate, self._key, [*known, entry], number=number_of(known) + 1, now=now
        )
        write_atomically(self._folder / REVOKED, signed.public_bytes(Encoding.PEM))

    def crl(self) -> bytes:
        """The signed list of everything revoked so far, as PEM: what the aggregator reads."""
        return self._revocations().public_bytes(Encoding.PEM)

    def require_never_revoked(self, name: str, public_key: ec.EllipticCurvePublicKey) -> None:
        """`CertificateError` if a certificate for this key was ever taken back, whoever asks for another."""
        wanted = public_bytes(public_key)
        if any(one.revoked and public_bytes(one.public_key) == wanted for one in self.issued()):
            raise CertificateError(
                f"the key of {name} had a certificate that was revoked, so it may be in other hands; make a new key: "
                f"remove the key file from the kit of {name} and run `siloseal provision CONFIG --out "
                f"{self._folder.parent}` again, or have {name} send a new request"
            )

    def _revocations(self) -> x509.CertificateRevocationList:
        path = self._folder / REVOKED
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CertificateError(
                f"{path} cannot be read ({error.strerror}), expected the list of revoked certificates; restore it from "
                "a backup or from the aggregator's kit: a new one would undo every revocation"
            ) from error
        return parse_revocations(content, self._certificate, path)

    def _read_issued(self, path: Path) -> bytes:
        """Read every issued certificate: a damaged or foreign file would hide one that can still be used."""
        pem = read_certificate(path)
        try:
            require_issuer(pem, self.certificate)
            bearer_of(pem)
        except CertificateError as error:
            raise CertificateError(f"{path}: {error}") from error
        return pem


def _require_there(folder: Path) -> None:
    if not (folder / CERTIFICATE).exists():
        raise CertificateError(
            f"{folder} holds no authority: {CERTIFICATE} is missing; give the folder that `siloseal provision` wrote, "
            "or restore it from a backup"
        )


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot be a name in a certificate; use at most 64 of a-z, A-Z, 0-9, _ and -, beginning with a "
            "letter or digit"
        )


def _requested_key(key: ec.EllipticCurvePublicKey | x509.CertificateSigningRequest) -> ec.EllipticCurvePublicKey:
    if isinstance(key, ec.EllipticCurvePublicKey):
        return require_p256(key)
    public_key = require_p256(key.public_key())
    if not key.is_signature_valid:
        raise CertificateError("the request is not signed by the key that it is for, or altered since; make it again")
    return public_key
