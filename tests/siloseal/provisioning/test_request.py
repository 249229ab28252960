"""A silo that keeps its own keys: what it sends, what it gets, and every way to cheat on the way."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from siloseal.federation.config.loading import load_config
from siloseal.federation.config.section import placed
from siloseal.federation.errors import ConfigError, SignatureInvalid
from siloseal.federation.records.identity import Identity
from siloseal.federation.records.roster import read_roster
from siloseal.federation.transport.pki.authority import Authority
from siloseal.federation.transport.pki.certificates import read_private_key, require_pair
from siloseal.provisioning.kits import provision
from siloseal.provisioning.renewal import revoke
from siloseal.provisioning.request import _CONTEXT, Request, make_request, read_request
from siloseal.silo.config import SiloConfig


@pytest.fixture
def west(tmp_path: Path) -> Path:
    """The folder of a silo that made its own keys."""
    make_request("west", tmp_path / "west")
    return tmp_path / "west"


@pytest.fixture
def kit(config: Path, west: Path, add_silo: Callable[..., None], tmp_path: Path) -> Path:
    """What the authority made of its request, whose path is taken from where the consortium's file lies."""
    add_silo("west", request="west/request.yaml")
    provision(config, tmp_path / "kits")
    return tmp_path / "kits" / "west"


def alter(folder: Path, **fields: str) -> Path:
    path = folder / "request.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **fields}))
    return path


def signed_by_identity(folder: Path, csr: x509.CertificateSigningRequest) -> dict[str, str]:
    """As whoever holds the identity key could make it."""
    signature = Identity.in_file("west", folder / "identity.key").sign(_CONTEXT + csr.public_bytes(Encoding.DER))
    return {"certificate_request": csr.public_bytes(Encoding.PEM).decode(), "signature": signature.hex()}


def csr_of(name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateSigningRequest:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return x509.CertificateSigningRequestBuilder(subject).sign(key, SHA256())


def test_a_request_holds_no_key_and_the_keys_are_their_owners_only(west: Path) -> None:
    assert {path.name for path in west.iterdir()} == {"silo.key", "identity.key", "request.yaml"}
    assert stat.S_IMODE(west.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in west.glob("*.key")} == {0o600}
    text = (west / "request.yaml").read_text()
    assert "PRIVATE" not in text
    assert (west / "identity.key").read_bytes().hex() not in text


def test_the_kit_has_no_keys_and_fits_the_silos_own(kit: Path, west: Path) -> None:
    assert {path.name for path in kit.iterdir()} == {"silo.crt", "ca.crt", "roster.yaml", "silo.yaml", "START.md"}
    require_pair((kit / "silo.crt").read_bytes(), read_private_key(west / "silo.key"))
    assert read_roster(kit / "roster.yaml").keys["west"] == Identity.in_file("west", west / "identity.key").public
    page = (kit / "START.md").read_text()
    assert "`silo.key` and `identity.key`" in page


def test_the_files_copied_beside_the_keys_are_complete(kit: Path, west: Path) -> None:
    for path in kit.iterdir():
        (west / path.name).write_bytes(path.read_bytes())
    loaded = placed(load_config(SiloConfig, west / "silo.yaml"), west)
    for file in (loaded.tls.certificate, loaded.tls.key, loaded.tls.authority, loaded.identity, loaded.roster):
        assert file.is_file()


def test_both_sides_are_told_the_same_fingerprint(config: Path, kit: Path, west: Path) -> None:
    fingerprint = load_config(Request, west / "request.yaml").fingerprint
    assert fingerprint in "\n".join(provision(config, kit.parent))


def test_the_same_request_again_keeps_the_certificate_and_a_new_one_gets_another(
    config: Path, kit: Path, west: Path
) -> None:
    first = (kit / "silo.crt").read_bytes()
    provision(config, kit.parent)
    assert (kit / "silo.crt").read_bytes() == first
    for path in west.iterdir():
        path.unlink()
    make_request("west", west)
    provision(config, kit.parent)
    require_pair((kit / "silo.crt").read_bytes(), read_private_key(west / "silo.key"))
    assert len(Authority.load(kit.parent / "authority").issued("west")) == 2


def test_the_certificate_of_an_older_request_is_named_until_it_is_taken_back(
    config: Path, kit: Path, west: Path
) -> None:
    (old,) = Authority.load(kit.parent / "authority").issued("west")
    command = f"`siloseal provision revoke west --serial {old.bearer.serial:x} --kits {kit.parent}`"
    assert command not in "\n".join(provision(config, kit.parent))
    for path in west.iterdir():
        path.unlink()
    make_request("west", west)
    for _ in range(2):
        assert "\n".join(provision(config, kit.parent)).count(command) == 1
    assert "1 of west for other keys stand" in revoke("west", kit.parent, f"{old.bearer.serial:x}")[-1]
    assert command not in "\n".join(provision(config, kit.parent))
    require_pair((kit / "silo.crt").read_bytes(), read_private_key(west / "silo.key"))


@pytest.mark.parametrize("place", ["~", "$WHERE", "${WHERE}"])
def test_a_path_may_begin_with_a_variable_or_a_home_folder(
    config: Path, west: Path, change: Callable[..., None], add_silo: Callable[..., None],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOME", str(west.parent))
    monkeypatch.setenv("WHERE", str(west.parent))
    add_silo("west", request=f"{place}/west/request.yaml")
    change(lambda consortium, _: consortium.update(job=f"{place}/hospitals.yaml"))
    provision(config, tmp_path / "kits")
    require_pair((tmp_path / "kits/west/silo.crt").read_bytes(), read_private_key(west / "silo.key"))


def test_keys_are_never_overwritten(west: Path) -> None:
    before = {path.name: path.read_bytes() for path in west.iterdir()}
    with pytest.raises(ConfigError, match=r"silo\.key, identity\.key, request\.yaml"):
        make_request("west", west)
    (west / "silo.key").unlink()
    with pytest.raises(ConfigError, match=r" identity\.key, request\.yaml"):
        make_request("west", west)
    assert (west / "identity.key").read_bytes() == before["identity.key"]
    assert not (west / "silo.key").exists()


def test_a_folder_that_is_a_file_and_a_name_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=str(tmp_path / "file")):
        make_request("west", tmp_path / "file")
    with pytest.raises(ConfigError, match=r"--name .*'\.\./west'"):
        make_request("../west", tmp_path / "new")


def test_a_request_for_another_name_is_refused(west: Path) -> None:
    read_request(west / "request.yaml", "west")
    with pytest.raises(ConfigError, match=r"of west, .*of east"):
        read_request(west / "request.yaml", "east")
    with pytest.raises(ConfigError, match=r"\['west'\], .*east"):
        read_request(alter(west, name="east"), "east")


def test_parts_of_two_requests_do_not_fit_together(west: Path, tmp_path: Path) -> None:
    other = make_request("west", tmp_path / "other")
    for field in ("certificate_request", "identity", "signature"):
        original = (west / "request.yaml").read_text()
        with pytest.raises(ConfigError, match=r"west/request\.yaml") as refused:
            read_request(alter(west, **{field: getattr(other, field)}), "west")
        assert isinstance(refused.value.__cause__, SignatureInvalid)
        (west / "request.yaml").write_text(original)


def test_a_request_that_its_own_key_did_not_sign_is_refused(west: Path) -> None:
    """Somebody with an identity key of its own asks for a certificate for a TLS key that it does not have."""
    csr = csr_of("west", ec.generate_private_key(ec.SECP256R1()))
    der = bytearray(csr.public_bytes(Encoding.DER))
    der[-1] ^= 1
    forged = signed_by_identity(west, x509.load_der_x509_csr(bytes(der)))
    with pytest.raises(ConfigError, match=r"certificate_request .*own key"):
        read_request(alter(west, **forged), "west")


def test_a_key_of_another_kind_and_junk_are_refused(west: Path) -> None:
    strange = signed_by_identity(west, csr_of("west", ec.generate_private_key(ec.SECP384R1())))
    with pytest.raises(ConfigError, match="P-256"):
        read_request(alter(west, **strange), "west")
    with pytest.raises(ConfigError, match="certificate_request "):
        read_request(alter(west, certificate_request="junk"), "west")
    with pytest.raises(ConfigError, match="signature"):
        read_request(alter(west, signature="00"), "west")


def test_a_tampered_request_stops_provisioning_before_anything_is_written(
    config: Path, west: Path, add_silo: Callable[..., None], tmp_path: Path
) -> None:
    add_silo("west", request="west/request.yaml")
    alter(west, identity="00" * 32)
    with pytest.raises(ConfigError, match=r"west/request\.yaml"):
        provision(config, tmp_path / "kits")
    assert not (tmp_path / "kits").exists()


def test_a_kit_with_keys_made_here_is_not_mixed_with_a_request(
    config: Path, west: Path, add_silo: Callable[..., None], change: Callable[..., None], tmp_path: Path
) -> None:
    add_silo("west")
    provision(config, tmp_path / "kits")
    change(lambda consortium, _: consortium["silos"][-1].update(request="west/request.yaml"))
    with pytest.raises(ConfigError, match=r"silo\.key, identity\.key, .*west "):
        provision(config, tmp_path / "kits")
