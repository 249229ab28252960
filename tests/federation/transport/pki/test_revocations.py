"""The list of revoked certificates: read while running, and never taken for empty."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from siloseal.federation.errors import CertificateError
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Bearer, Revocations, Role, bearer_of
from siloseal.federation.transport.pki.keys import new_private_key, parse_private_key, public_key_of

NOW = datetime.now(UTC)
KEY = new_private_key()
PUBLIC = public_key_of(KEY)


def silo(authority: Authority, name: str = "east", now: datetime | None = None) -> bytes:
    return authority.issue(Role.SILO, name, PUBLIC, valid_days=30, now=now)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "revoked.pem"


def reading(path: Path, authority: Authority) -> Revocations:
    """As an aggregator reads the list when it starts."""
    return Revocations(path, authority.certificate, remembered=memory(path))


def memory(path: Path) -> Path:
    return path.parent / "state" / "newest.json"


@pytest.fixture
def bearers(authority: Authority) -> list[Bearer]:
    return [bearer_of(silo(authority, name)) for name in ("east", "west")]


def test_only_what_was_revoked_is_refused(authority: Authority, path: Path, bearers: list[Bearer]) -> None:
    east, west = bearers
    authority.revoke(east.serial, now=NOW)
    path.write_bytes(authority.crl())
    revocations = reading(path, authority)
    revocations.require_not_revoked(west)
    with pytest.raises(CertificateError, match=f"east.*{NOW:%Y-%m-%d}"):
        revocations.require_not_revoked(east)


def test_a_revocation_is_noticed_while_running(authority: Authority, path: Path, bearers: list[Bearer]) -> None:
    path.write_bytes(authority.crl())
    revocations = reading(path, authority)
    for bearer in bearers:
        revocations.require_not_revoked(bearer)
    for bearer in bearers:
        authority.revoke(bearer.serial)
        path.write_bytes(authority.crl())
        with pytest.raises(CertificateError, match=str(bearer)):
            revocations.require_not_revoked(bearer)
    with pytest.raises(CertificateError, match=str(bearers[0])):
        revocations.require_not_revoked(bearers[0])  # the second list has the first one's entries too


def test_revoking_twice_changes_nothing(authority: Authority, bearers: list[Bearer]) -> None:
    authority.revoke(bearers[0].serial)
    once = authority.crl()
    authority.revoke(bearers[0].serial)
    assert authority.crl() == once
    assert [one.revoked for one in authority.issued()].count(True) == 1


def test_a_change_that_clock_and_size_do_not_show_is_noticed(
    authority: Authority, path: Path, bearers: list[Bearer]
) -> None:
    path.write_bytes(pem := authority.crl())
    revocations, before = reading(path, authority), path.stat()
    path.write_bytes(b"x" * len(pem))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CertificateError):
        revocations.require_not_revoked(bearers[0])


def test_a_list_that_is_lost_or_damaged_while_running_lets_nobody_in(
    authority: Authority, stranger: Authority, path: Path, bearers: list[Bearer]
) -> None:
    path.write_bytes(good := authority.crl())
    revocations = reading(path, authority)
    for content in (b"", good[:-90], stranger.crl(), None):
        path.write_bytes(content) if content is not None else path.unlink()
        for bearer in bearers:
            with pytest.raises(CertificateError, match=path.name):
                revocations.require_not_revoked(bearer)
        path.write_bytes(good)
        revocations.require_not_revoked(bearers[0])


def test_an_older_list_does_not_undo_a_revocation(authority: Authority, path: Path, bearers: list[Bearer]) -> None:
    old = authority.crl()
    authority.revoke(bearers[0].serial)
    path.write_bytes(authority.crl())
    revocations = reading(path, authority)
    path.write_bytes(old)
    with pytest.raises(CertificateError, match=r"list 1\b.*list 2\b"):
        revocations.require_not_revoked(bearers[1])


def test_an_older_list_does_not_undo_a_revocation_after_a_restart_either(
    authority: Authority, path: Path, bearers: list[Bearer]
) -> None:
    old = authority.crl()
    authority.revoke(bearers[0].serial)
    path.write_bytes(new := authority.crl())
    reading(path, authority)
    path.write_bytes(old)
    with pytest.raises(CertificateError, match=r"list 1\b.*list 2\b"):
        reading(path, authority)
    path.write_bytes(new)
    reading(path, authority).require_not_revoked(bearers[1])


def test_a_list_that_came_while_running_is_remembered_too(
    authority: Authority, path: Path, bearers: list[Bearer]
) -> None:
    path.write_bytes(old := authority.crl())
    revocations = reading(path, authority)
    authority.revoke(bearers[0].serial)
    path.write_bytes(authority.crl())
    revocations.require_not_revoked(bearers[1])
    path.write_bytes(old)
    with pytest.raises(CertificateError, match=r"list 1\b.*list 2\b"):
        reading(path, authority)


def test_what_is_remembered_is_in_a_small_file_of_its_owner(authority: Authority, path: Path) -> None:
    path.write_bytes(authority.crl())
    reading(path, authority)
    assert stat.S_IMODE(memory(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(memory(path).parent.stat().st_mode) == 0o700
    assert memory(path).stat().st_size < 200
    assert list(memory(path).parent.iterdir()) == [memory(path)]


def test_the_lists_of_another_authority_have_their_own_numbers(
    authority: Authority, stranger: Authority, path: Path, bearers: list[Bearer]
) -> None:
    authority.revoke(bearers[0].serial)
    path.write_bytes(authority.crl())
    reading(path, authority)
    path.write_bytes(stranger.crl())
    reading(path, stranger)


@pytest.mark.parametrize("content", [b"", b"junk", b"[]", b'{"number": 1}', b'{"authority": "", "number": "1"}'])
def test_a_memory_that_is_damaged_is_refused(authority: Authority, path: Path, content: bytes) -> None:
    path.write_bytes(authority.crl())
    reading(path, authority)
    memory(path).write_bytes(content)
    with pytest.raises(CertificateError, match=r"newest\.json"):
        reading(path, authority)


def test_many_may_ask_at_once_when_the_list_has_changed(
    authority: Authority, path: Path, bearers: list[Bearer]
) -> None:
    path.write_bytes(authority.crl())
    revocations = reading(path, authority)
    for serial in [bearer_of(silo(authority, "south")).serial for _ in range(10)]:
        authority.revoke(serial)
        path.write_bytes(authority.crl())
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(revocations.require_not_revoked, 8 * bearers))


def test_a_missing_list_is_not_an_empty_one(authority: Authority, path: Path) -> None:
    with pytest.raises(CertificateError, match=path.name):
        reading(path, authority)


def test_a_list_of_another_authority_or_altered_is_refused(
    authority: Authority, stranger: Authority, path: Path
) -> None:
    path.write_bytes(stranger.crl())
    with pytest.raises(CertificateError, match="signed"):
        reading(path, authority)
    der = bytearray(x509.load_pem_x509_crl(authority.crl()).public_bytes(Encoding.DER))
    der[-1] ^= 1
    path.write_bytes(x509.load_der_x509_crl(bytes(der)).public_bytes(Encoding.PEM))
    with pytest.raises(CertificateError, match="signed"):
        reading(path, authority)


def test_a_list_without_a_number_is_refused(authority: Authority, path: Path) -> None:
    subject = x509.load_pem_x509_certificate(authority.certificate).subject
    builder = x509.CertificateRevocationListBuilder(subject).last_update(NOW)
    signed = builder.next_update(NOW + timedelta(days=1)).sign(parse_private_key(KEY, "key"), SHA256())
    path.write_bytes(signed.public_bytes(Encoding.PEM))
    with pytest.raises(CertificateError, match="damaged"):
        reading(path, authority)
