"""Private keys: which files and kinds are refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from siloseal.federation.errors import CertificateError, RunError
from siloseal.federation.records.identity import Identity
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import Role, read_private_key
from siloseal.federation.transport.pki.keys import new_private_key, require_p256

KEY = new_private_key()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "silo.key"
    path.touch(mode=0o600)
    path.write_bytes(KEY)
    return path


def test_a_key_that_only_its_owner_reads_is_read(path: Path) -> None:
    assert read_private_key(path) == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_key_that_others_can_read_is_refused(path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(RunError, match="chmod 600"):
        read_private_key(path)


@pytest.mark.parametrize("read", [read_private_key, lambda path: Identity.read("north", path)], ids=["TLS", "identity"])
def test_the_mode_that_counts_is_that_of_the_file_which_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    """Another file that is put in its place meanwhile does not speak for it."""
    (path := tmp_path / "open").write_bytes(KEY if read is read_private_key else bytes(32))
    (closed := tmp_path / "closed").touch(mode=0o600)
    status = closed.stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: status)
    with pytest.raises(RunError, match="chmod 600"):
        read(path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"silo\.key"):
        read_private_key(tmp_path / "silo.key")


@pytest.mark.parametrize("what", ["junk", "ed25519", "another curve", "with a password"])
def test_a_key_that_cannot_be_used_is_refused_without_being_quoted(path: Path, what: str) -> None:
    closed = BestAvailableEncryption(b"word") if what == "with a password" else NoEncryption()
    key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey = ed25519.Ed25519PrivateKey.generate()
    if what != "ed25519":
        key = ec.generate_private_key(ec.SECP384R1() if what == "another curve" else ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, closed)
    path.write_bytes(b"-----BEGIN PRIVATE KEY-----\njunk\n" if what == "junk" else pem)
    with pytest.raises(RunError, match=r"silo\.key") as refused:
        read_private_key(path)
    assert "BEGIN" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_public_keys_of_other_kinds_are_refused(authority: Authority) -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    with pytest.raises(CertificateError, match="P-256"):
        require_p256(key)
    with pytest.raises(CertificateError, match="P-256"):
        authority.issue(Role.SILO, "east", ec.generate_private_key(ec.SECP384R1()).public_key(), valid_days=1)
