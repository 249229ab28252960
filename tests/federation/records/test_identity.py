"""Signatures, and the file that keeps a silo's key."""

import stat
from pathlib import Path

import pytest

from siloseal.federation.errors import RunError, SignatureInvalid
from siloseal.federation.records.identity import Identity, check_signature

NORTH, SOUTH = Identity.create("north"), Identity.create("south")
STATEMENT = b"north said this"
SIGNATURE = NORTH.sign(STATEMENT)


def test_a_signature_is_accepted_with_the_key_of_who_signed() -> None:
    check_signature("north", NORTH.public, SIGNATURE, STATEMENT)


def test_signatures_are_those_of_rfc_8032(tmp_path: Path) -> None:
    """Section 7.1, test 1: an empty message."""
    (tmp_path / "key").write_bytes(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    (tmp_path / "key").chmod(0o600)
    identity = Identity.in_file("north", tmp_path / "key")
    assert identity.public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert identity.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe"
        "24655141438e7a100b"
    )


@pytest.mark.parametrize(
    ("public", "signature", "statement"),
    [
        (SOUTH.public, SIGNATURE, STATEMENT),
        (NORTH.public, SOUTH.sign(STATEMENT), STATEMENT),
        (NORTH.public, SIGNATURE, STATEMENT + b"!"),
        (NORTH.public, SIGNATURE, b""),
        (NORTH.public, SIGNATURE[:-1], STATEMENT),
        (NORTH.public, SIGNATURE + b"\0", STATEMENT),
        (NORTH.public, b"", STATEMENT),
        (NORTH.public, bytes([SIGNATURE[0] ^ 1]) + SIGNATURE[1:], STATEMENT),
        (NORTH.public[:-1], SIGNATURE, STATEMENT),
        (b"", SIGNATURE, STATEMENT),
    ],
    ids=[
        "another's key", "another's signature", "altered statement", "no statement", "truncated signature",
        "longer signature", "no signature", "altered signature", "truncated key", "no key",
    ],
)  # fmt: skip
def test_anything_but_just_this_signature_is_refused(public: bytes, signature: bytes, statement: bytes) -> None:
    with pytest.raises(SignatureInvalid, match="north"):
        check_signature("north", public, signature, statement)


def test_two_new_identities_have_different_keys() -> None:
    assert NORTH.public != SOUTH.public
    assert Identity.create("north").public != NORTH.public


def test_a_file_keeps_the_identity(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "identity"
    first = Identity.in_file("north", path)
    again = Identity.in_file("north", path)
    assert again.public == first.public
    check_signature("north", first.public, again.sign(STATEMENT), STATEMENT)


def test_only_its_owner_may_read_the_file_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "identity"
    Identity.in_file("north", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, length: int) -> None:
    path = tmp_path / "identity"
    path.write_bytes(bytes(length))
    path.chmod(0o600)
    with pytest.raises(RunError, match=f"{length} bytes"):
        Identity.in_file("north", path)
    assert path.read_bytes() == bytes(length)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    Identity.in_file("north", tmp_path / "identity.key")
    (tmp_path / "identity.key").chmod(0o644)
    with pytest.raises(RunError, match="chmod 600"):
        Identity.in_file("north", tmp_path / "identity.key")
