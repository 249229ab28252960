"""Whom a certificate names, and every reason not to believe it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from pydantic import TypeAdapter

from siloseal.federation.config.fields import Name
from siloseal.federation.errors import CertificateError
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import (
    NAME,
    Role,
    bearer_of,
    read_certificate,
    require_issuer,
    require_pair,
    require_valid,
)
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, public_key_of

NOW = datetime.now(UTC)
KEY, OTHER_KEY = new_private_key(), new_private_key()
PUBLIC = public_key_of(KEY)


def silo(authority: Authority, name: str = "east", now: datetime | None = None) -> bytes:
    return authority.issue(Role.SILO, name, PUBLIC, valid_days=30, now=now)


def test_names_are_those_of_config_files() -> None:
    assert TypeAdapter(Name).json_schema()["pattern"] == f"^{NAME.pattern}$"


@pytest.mark.parametrize(
    ("uris", "common"),
    [
        ([], "east"),
        (["https://hospitals/silo/east"], "east"),
        (["siloseal://hospitals/king/east"], "east"),
        (["siloseal://hospitals/silo/east/x"], "east"),
        (["siloseal://hospitals/silo/"], ""),
        (["siloseal://hospitals/silo/east"], "west"),
        (["siloseal://hospitals/silo/east", "siloseal://hospitals/silo/west"], "east"),
    ],
)
def test_a_certificate_that_names_nobody_or_two_is_refused(uris: list[str], common: str) -> None:
    key = parse_private_key(KEY, "key")
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1).not_valid_before(NOW)
    names = [x509.DNSName("a"), *map(x509.UniformResourceIdentifier, uris)]
    builder = builder.not_valid_after(NOW).add_extension(x509.SubjectAlternativeName(names), critical=False)
    with pytest.raises(CertificateError, match="siloseal://CONSORTIUM/ROLE/NAME"):
        bearer_of(builder.sign(key, SHA256()).public_bytes(Encoding.PEM))


def test_a_certificate_without_names_and_junk_are_refused(authority: Authority) -> None:
    with pytest.raises(CertificateError, match="bearer"):
        bearer_of(authority.certificate)
    with pytest.raises(CertificateError, match="PEM"):
        bearer_of(b"junk")


def test_expired_and_not_yet_valid_are_told_apart(authority: Authority) -> None:
    bearer = bearer_of(silo(authority, now=NOW))
    require_valid(bearer, NOW)
    with pytest.raises(CertificateError, match="`siloseal provision renew east`"):
        require_valid(bearer, NOW + timedelta(days=31))
    early = NOW - timedelta(minutes=6)
    with pytest.raises(CertificateError, match=f"{early:%Y-%m-%d %H:%M} UTC"):
        require_valid(bearer, early)
    require_valid(bearer, NOW - timedelta(minutes=4))  # the other machine's clock may be a little behind


def test_the_issuer_is_checked(authority: Authority, stranger: Authority) -> None:
    require_issuer(silo(authority), authority.certificate)
    with pytest.raises(CertificateError):
        require_issuer(silo(stranger), authority.certificate)


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    require_pair(silo(authority), KEY)
    with pytest.raises(CertificateError):
        require_pair(silo(authority), OTHER_KEY)


def test_a_certificates_file_is_named_in_errors(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "silo.crt").write_bytes(pem := silo(authority))
    assert read_certificate(tmp_path / "silo.crt") == pem
    with pytest.raises(CertificateError, match=r"missing\.crt"):
        read_certificate(tmp_path / "missing.crt")
    (tmp_path / "silo.crt").write_bytes(pem[:-60])
    with pytest.raises(CertificateError, match=r"silo\.crt"):
        read_certificate(tmp_path / "silo.crt")
