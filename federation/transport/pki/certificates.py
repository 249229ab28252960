"""What a certificate says of its bearer, and the reasons not to believe it.

That the consortium's authority signed a certificate is checked by TLS. What TLS does not tell is who the bearer is to
this consortium, and whether the authority has taken the certificate back since.
"""

import re
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from siloseal.federation.errors import CertificateError
from siloseal.federation.records.storage import read_secret
from siloseal.federation.transport.pki.keys import parse_private_key, public_bytes, public_key_of, require_p256
from siloseal.federation.transport.pki.newest_list import NewestList

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""A name of a consortium or of a party, as config files allow it; no other may reach a URI or a file's name."""


class Role(StrEnum):
    """The role that a certificate entitles to."""

    AGGREGATOR = "aggregator"
    SILO = "silo"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Bearer:
    """The party that a certificate was issued to, and the time for which it is valid."""

    consortium: str
    role: Role
    name: str
    serial: int
    not_before: datetime
    not_after: datetime

    def __str__(self) -> str:
        return f"the {self.role} {self.name} of {self.consortium}"


def parse_certificate(pem: bytes) -> x509.Certificate:
    """The certificate in this PEM."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateError("this is no certificate in PEM, or a damaged one; copy it from the kit again") from error


def bearer_uri(consortium: str, role: Role, name: str) -> str:
    """The URI by which a certificate names its bearer."""
    return f"siloseal://{consortium}/{role}/{name}"


def bearer_of(pem: bytes) -> Bearer:
    """The party that the certificate names; `CertificateError` if it is not one of a consortium.

    This reads and does not verify: ask it of a certificate that TLS has accepted, or after `require_issuer`.
    """
    certificate = parse_certificate(pem)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
        commons = [str(part.value) for part in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError) as error:
        raise CertificateError(
            "the certificate does not name its bearer, expected one that `siloseal provision` has made; copy it from "
            "the kit again"
        ) from error
    roles = "|".join(Role)
    found = re.fullmatch(rf"siloseal://({NAME.pattern})/({roles})/({NAME.pattern})", uris[0]) if uris else None
    if found is None or len(uris) != 1 or commons != [found[3]]:
        raise CertificateError(
            f"the certificate names {', '.join(uris + commons) or 'nobody'}, expected one siloseal://CONSORTIUM/ROLE/"
            "NAME and the same name as its subject; copy it from the kit again"
        )
    return Bearer(
        consortium=found[1],
        role=Role(found[2]),
        name=found[3],
        serial=certificate.serial_number,
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
    )


def require_valid(bearer: Bearer, now: datetime) -> None:
    """`CertificateError` that tells a certificate which is over from one which has not begun."""
    if now > bearer.not_after:
        raise CertificateError(
            f"the certificate of {bearer} expired on {_instant(bearer.not_after)} and it is {_instant(now)}; have the "
            f"authority run `siloseal provision renew {bearer.name}` and put the new one in its place"
        )
    if now < bearer.not_before:
        raise CertificateError(
            f"the certificate of {bearer} is valid from {_instant(bearer.not_before)} only; this machine's clock, "
            f"which says {_instant(now)}, may be wrong: set it, or wait"
        )


def require_issuer(certificate_pem: bytes, authority_pem: bytes) -> None:
    """`CertificateError` unless this authority signed the certificate."""
    try:
        parse_certificate(certificate_pem).verify_directly_issued_by(parse_certificate(authority_pem))
    except (InvalidSignature, ValueError, TypeError) as error:
        raise CertificateError(
            "the certificate was not signed by this authority, expected one of the same consortium; take certificate "
            "and ca.crt from the same kit"
        ) from error


def require_pair(certificate_pem: bytes, key_pem: bytes) -> None:
    """`CertificateError` unless the key belongs to the certificate: TLS would say so in words that help nobody."""
    certified = require_p256(parse_certificate(certificate_pem).public_key())
    if public_bytes(certified) != public_bytes(public_key_of(key_pem)):
        raise CertificateError(
            "the private key is not the one that the certificate is for; take both from the same kit, or put the "
            "certificate beside the key that was requested with it"
        )


class Revocations:
    """The authority's list of certificates taken back, as a file that may be replaced while it is in use.

    A list that cannot be read or trusted lets nobody in: if it counted as empty, deleting it would undo every
    revocation. An older list than the newest in use so far, whose number is in the file `remembered`, lets nobody in
    either. When the next list was due is not asked, because it comes by hand and late is better than never.
    """

    def __init__(self, path: Path, authority_pem: bytes, *, remembered: Path) -> None:
        self._path, self._authority = path, parse_certificate(authority_pem)
        self._newest = NewestList(remembered, self._authority)
        self._read: tuple[bytes, x509.CertificateRevocationList] | None = None
        self._one_at_a_time = threading.Lock()
        self._current()

    def require_not_revoked(self, bearer: Bearer) -> None:
        """`CertificateError` if the list names this certificate, or cannot be read."""
        with self._one_at_a_time:
            revoked = self._current().get_revoked_certificate_by_serial_number(bearer.serial)
        if revoked is not None:
            raise CertificateError(
                f"the certificate of {bearer} was revoked on {_instant(revoked.revocation_date_utc)}; the authority "
                "can issue another, for a new key"
            )

    def _current(self) -> x509.CertificateRevocationList:
        """The list as it is now. It is small: compared whole, no change escapes, not even one within a clock's tick."""
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise CertificateError(
                f"{self._path} cannot be read ({error.strerror}), expected the authority's list of revoked "
                "certificates; copy aggregator/revoked.pem from the kits: without it nobody is let in"
            ) from error
        if self._read is not None and self._read[0] == content:
            return self._read[1]
        found = parse_revocations(content, self._authority, self._path)
        if number_of(found) < self._newest.number:
            raise CertificateError(
                f"{self._path} is list {number_of(found)}, but list {self._newest.number} was there before; an older "
                "one would undo revocations: copy the newest from the authority"
            )
        self._newest.remember(number_of(found))
        self._read = content, found
        return found


def parse_revocations(pem: bytes, authority: x509.Certificate, path: Path) -> x509.CertificateRevocationList:
    """The list that this authority signed; `path` stands for it in errors."""
    try:
        found = x509.load_pem_x509_crl(pem)
        signed = found.is_signature_valid(require_p256(authority.public_key()))
        number_of(found)
    except (ValueError, x509.ExtensionNotFound) as error:
        raise CertificateError(
            f"{path} is damaged, expected a list of revoked certificates in PEM; copy it from the authority again"
        ) from error
    if not signed or found.issuer != authority.subject:
        raise CertificateError(
            f"{path} was not signed by this authority, or altered since; copy it from the authority again"
        )
    return found


def number_of(revocations: x509.CertificateRevocationList) -> int:
    """The number of a list; a newer one has a higher number."""
    return revocations.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def read_certificate(path: Path) -> bytes:
    """A certificate's PEM, or `CertificateError` that names the file."""
    try:
        content = path.read_bytes()
        parse_certificate(content)
    except OSError as error:
        raise CertificateError(
            f"{path} cannot be read ({error.strerror}), expected a certificate in PEM; copy it from the kit"
        ) from error
    except CertificateError as error:
        raise CertificateError(f"{path}: {error}") from error
    return content


def read_private_key(path: Path) -> bytes:
    """A key's PEM from a file that only its owner may read."""
    content = read_secret(path, remedy="copy the private key, in PEM, from the kit, or from where it was made")
    parse_private_key(content, str(path))
    return content


def _instant(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
