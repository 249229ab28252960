"""What the authority issues, refuses and remembers."""

import copy
import pickle
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from siloseal.federation.errors import CertificateError, ConfigError, RunError
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role, bearer_of, require_issuer, require_pair
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, public_key_of

NOW = datetime.now(UTC)
KEY, OTHER_KEY = new_private_key(), new_private_key()
PUBLIC = public_key_of(KEY)


def silo(authority: Authority, name: str = "east", now: datetime | None = None) -> bytes:
    return authority.issue(Role.SILO, name, PUBLIC, valid_days=30, now=now)


def test_its_folder_is_its_owners_only(authority: Authority, tmp_path: Path) -> None:
    folder = tmp_path / "authority"
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE((folder / "issued").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "ca.key").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["authority"]


def test_its_certificate_signs_certificates_and_lists_and_nothing_below(authority: Authority) -> None:
    certificate = x509.load_pem_x509_certificate(authority.certificate)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    assert not usage.value.digital_signature
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert timedelta(days=3650) <= lifetime <= timedelta(days=3651)


def test_loading_gives_the_same_authority(authority: Authority, tmp_path: Path) -> None:
    again = Authority.load(tmp_path / "authority")
    assert (again.name, again.certificate) == (authority.name, authority.certificate) != ("", b"")
    require_issuer(silo(again), authority.certificate)


def test_it_does_not_print_pickle_or_copy(authority: Authority) -> None:
    assert repr(authority) == "Authority(<secret>)"
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="secret"):
            attempt(authority)


@pytest.mark.parametrize(
    ("role", "hosts", "usage"),
    [
        (Role.AGGREGATOR, ("a.example.org", "::1"), ExtendedKeyUsageOID.SERVER_AUTH),
        (Role.SILO, (), ExtendedKeyUsageOID.CLIENT_AUTH),
        (Role.OPERATOR, (), ExtendedKeyUsageOID.CLIENT_AUTH),
    ],
)
def test_a_certificate_says_who_what_for_where_and_when(
    authority: Authority, role: Role, hosts: tuple[str, ...], usage: x509.ObjectIdentifier
) -> None:
    pem = authority.issue(role, "x1", PUBLIC, valid_days=7, hosts=hosts, now=NOW)
    bearer = bearer_of(pem)
    assert (bearer.consortium, bearer.role, bearer.name) == ("hospitals", role, "x1")
    assert bearer.not_after == (NOW + timedelta(days=7)).replace(microsecond=0)
    assert bearer.not_before == (NOW - timedelta(minutes=5)).replace(microsecond=0)
    certificate = x509.load_pem_x509_certificate(pem)
    assert list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [usage]
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert authority.issued("x1")[0].hosts == hosts
    require_issuer(pem, authority.certificate)


def test_every_certificate_is_kept_with_a_serial_of_its_own(authority: Authority, tmp_path: Path) -> None:
    pems = [silo(authority, now=NOW - timedelta(hours=hours)) for hours in (2, 1, 3)] + [silo(authority, "west")]
    kept = [path.read_bytes() for path in (tmp_path / "authority" / "issued").glob("*.pem")]
    assert sorted(kept) == sorted(pems)
    assert [one.pem for one in authority.issued("east")] == [pems[2], pems[0], pems[1]]  # the newest comes last
    assert len({one.bearer.serial for one in authority.issued()}) == 4
    assert (tmp_path / "authority/issued" / f"west.{bearer_of(pems[3]).serial:x}.pem").exists()


def test_a_request_is_as_good_as_a_key(authority: Authority) -> None:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "aggregator")])
    csr = x509.CertificateSigningRequestBuilder(subject).sign(parse_private_key(KEY, "key"), SHA256())
    pem = authority.issue(Role.SILO, "east", csr, valid_days=1)
    require_pair(pem, KEY)
    assert bearer_of(pem).name == "east"  # the authority says who it is, not the request


def test_a_request_that_another_key_signed_is_refused(authority: Authority) -> None:
    csr = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(parse_private_key(KEY, "key"), SHA256())
    der = bytearray(csr.public_bytes(Encoding.DER))
    der[-1] ^= 1
    with pytest.raises(CertificateError, match="signed"):
        authority.issue(Role.SILO, "east", x509.load_der_x509_csr(bytes(der)), valid_days=1)


@pytest.mark.parametrize("name", ["", "../east", "a b", "-x", "x" * 65, "east\n"])
def test_a_name_that_is_no_name_is_refused(authority: Authority, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(repr(name))):
        silo(authority, name)
    with pytest.raises(ConfigError, match=re.escape(repr(name))):
        Authority.create(name, tmp_path / "new")


@pytest.mark.parametrize(
    ("role", "hosts"),
    [(Role.AGGREGATOR, ()), (Role.SILO, ("localhost",)), (Role.AGGREGATOR, ("localhost:8443",))],
)
def test_hosts_belong_to_the_aggregator_and_have_no_port(
    authority: Authority, role: Role, hosts: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError, match=r"hosts|port"):
        authority.issue(role, "x", PUBLIC, valid_days=1, hosts=hosts)
    assert authority.issued() == []


def test_no_certificate_outlives_its_authority(tmp_path: Path) -> None:
    old = Authority.create("old", tmp_path / "old", now=NOW - timedelta(days=3649))
    assert bearer_of(silo(old)).not_after < NOW + timedelta(days=2)
    dead = Authority.create("dead", tmp_path / "dead", now=NOW - timedelta(days=3651))
    with pytest.raises(CertificateError, match="dead"):
        silo(dead)


def test_a_key_once_revoked_gets_no_certificate_again_whoever_asks(authority: Authority) -> None:
    authority.revoke(bearer_of(silo(authority)).serial)
    with pytest.raises(CertificateError, match="west"):
        silo(authority, "west")


def test_an_authority_is_never_overwritten(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(RunError):
        Authority.create("hospitals", tmp_path / "authority")
    assert Authority.load(tmp_path / "authority").certificate == authority.certificate


def test_it_is_open_once_at_a_time_and_the_lock_leaves_no_file_behind(authority: Authority, tmp_path: Path) -> None:
    folder = tmp_path / "authority"
    before = sorted(folder.iterdir())
    for _ in range(2):
        with Authority.opened(folder) as opened:
            silo(opened, "west", now=NOW - timedelta(days=1))
            with pytest.raises(RunError, match=str(folder)):
                Authority.opened(folder).__enter__()
    assert sorted(folder.iterdir()) == before


def test_what_a_killed_creation_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".authority.part").mkdir()
    (tmp_path / ".authority.part" / "ca.key").write_bytes(KEY)
    Authority.create("hospitals", tmp_path / "authority")
    assert [path.name for path in tmp_path.iterdir()] == ["authority"]


def test_a_serial_that_was_never_issued_is_refused(authority: Authority) -> None:
    with pytest.raises(CertificateError, match="serial ff"):
        authority.revoke(255)


@pytest.mark.parametrize(
    ("file", "content"),
    [("ca.crt", None), ("ca.crt", b"junk"), ("ca.key", OTHER_KEY), ("revoked.pem", None), ("revoked.pem", b"junk")],
)
def test_a_damaged_folder_is_refused(authority: Authority, tmp_path: Path, file: str, content: bytes | None) -> None:
    path = tmp_path / "authority" / file
    path.write_bytes(content) if content else path.unlink()
    with pytest.raises(CertificateError):
        Authority.load(tmp_path / "authority")


def test_a_foreign_file_among_the_issued_is_named(authority: Authority, stranger: Authority, tmp_path: Path) -> None:
    (tmp_path / "authority/issued/east.1.pem").write_bytes(silo(stranger))
    with pytest.raises(CertificateError, match=r"east\.1\.pem"):
        authority.issued()
