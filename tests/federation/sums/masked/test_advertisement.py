"""Signed keys: who may advertise which, and where."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from siloseal.federation.errors import MessageError, SignatureInvalid, WrongContributors
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.masked.advertisement import (
    ADVERTISEMENT_BYTES,
    advertise,
    check_advertisements,
)
from siloseal.federation.sums.sealing import FIELD_PRIME, AgreementKey
from siloseal.federation.sums.session import IntegerDomain, Session
from siloseal.federation.transport.wire import masked_pb2 as pb

ROSTER = ("east", "north", "south")
IDENTITIES = {silo: Identity.create(silo) for silo in ROSTER}
SESSION = Session(
    bytes(32), ROSTER, IntegerDomain(10, 2**16), "additive", 3, tuple(IDENTITIES[silo].public for silo in ROSTER)
)
KEYS = {silo: (bytes([number] * 32), bytes([number + 100] * 32)) for number, silo in enumerate(ROSTER, start=1)}


def advertised(silo: str, *keys: bytes, session: Session = SESSION) -> bytes:
    return advertise(session, IDENTITIES[silo], keys)


def altered(data: bytes, *, keys: Sequence[bytes] | None = None, signature: bytes | None = None) -> bytes:
    said = pb.Advertisement.FromString(data)
    return pb.Advertisement(
        keys=said.keys if keys is None else keys, signature=said.signature if signature is None else signature
    ).SerializeToString()


def test_the_keys_that_each_silo_signed_come_out() -> None:
    said = {silo: advertised(silo, *KEYS[silo]) for silo in ROSTER}
    assert check_advertisements(SESSION, said, keys=2) == KEYS


def test_one_key_is_as_good_where_one_is_expected() -> None:
    said = {silo: advertised(silo, KEYS[silo][0]) for silo in ROSTER}
    assert check_advertisements(SESSION, said, keys=1) == {silo: KEYS[silo][:1] for silo in ROSTER}


def test_the_largest_one_has_as_many_bytes_as_stated() -> None:
    """The aggregator refuses longer ones unread."""
    assert len(advertised("north", *KEYS["north"])) == ADVERTISEMENT_BYTES


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("byte", [0, 31])
def test_a_key_that_was_altered_on_its_way_is_refused(which: int, byte: int) -> None:
    keys = [bytearray(key) for key in KEYS["north"]]
    keys[which][byte] ^= 1
    data = altered(advertised("north", *KEYS["north"]), keys=[bytes(key) for key in keys])
    with pytest.raises(SignatureInvalid, match="north"):
        check_advertisements(SESSION, {"north": data}, keys=2)


def test_two_keys_that_changed_places_are_refused() -> None:
    """Else masks would be made with the key that messages are sealed for."""
    data = altered(advertised("north", *KEYS["north"]), keys=KEYS["north"][::-1])
    with pytest.raises(SignatureInvalid):
        check_advertisements(SESSION, {"north": data}, keys=2)


@pytest.mark.parametrize("signature", [b"", bytes(64), bytes(63)], ids=["none", "zeros", "short"])
def test_keys_without_their_silos_signature_are_refused(signature: bytes) -> None:
    data = altered(advertised("north", *KEYS["north"]), signature=signature)
    with pytest.raises(SignatureInvalid):
        check_advertisements(SESSION, {"north": data}, keys=2)


def test_keys_that_somebody_else_signed_in_a_silos_name_are_refused() -> None:
    """What an aggregator would do that wants to read sealed messages."""
    forged = advertise(SESSION, Identity.create("north"), KEYS["north"])
    with pytest.raises(SignatureInvalid):
        check_advertisements(SESSION, {"north": forged}, keys=2)


def test_one_silos_advertisement_does_not_serve_another() -> None:
    said = {silo: advertised(silo, *KEYS[silo]) for silo in ROSTER}
    with pytest.raises(SignatureInvalid):
        check_advertisements(SESSION, {**said, "north": said["east"]}, keys=2)


def test_not_even_where_both_have_the_same_identity_key() -> None:
    """The name is signed as well."""
    twins = replace(SESSION, identities=(IDENTITIES["east"].public,) * 3)
    with pytest.raises(SignatureInvalid):
        check_advertisements(twins, {"north": advertised("east", *KEYS["east"], session=twins)}, keys=2)


@pytest.mark.parametrize(
    "other",
    [replace(SESSION, id=bytes(31) + b"\1"), replace(SESSION, quorum=2), replace(SESSION, scheme="ring")],
    ids=["id", "quorum", "scheme"],
)
def test_an_advertisement_of_another_session_is_refused(other: Session) -> None:
    data = advertised("north", *KEYS["north"], session=other)
    check_advertisements(other, {"north": data}, keys=2)
    with pytest.raises(SignatureInvalid):
        check_advertisements(SESSION, {"north": data}, keys=2)


@pytest.mark.parametrize("which", [0, 1])
def test_a_key_that_two_silos_advertise_is_refused(which: int) -> None:
    """One copied the other's, and would agree with everyone on the other's secrets if it knew how."""
    said = {"east": advertised("east", *KEYS["east"])}
    said["north"] = advertised("north", KEYS["east"][which], KEYS["north"][1])
    with pytest.raises(WrongContributors):
        check_advertisements(SESSION, said, keys=2)


def twin(key: bytes) -> bytes:
    """The other encoding of a point: X25519 ignores the top bit."""
    return key[:31] + bytes([key[31] | 0x80])


def test_a_copied_key_is_refused_in_its_other_encoding_too() -> None:
    mine, drawn = (AgreementKey.draw(SecureRandomness()) for _ in range(2))
    assert mine.agree(drawn.public, b"purpose") == mine.agree(twin(drawn.public), b"purpose"), "one point"
    said = {"east": advertised("east", drawn.public), "north": advertised("north", twin(drawn.public))}
    check_advertisements(SESSION, {"east": said["east"]}, keys=1)
    with pytest.raises(MessageError, match="north"):
        check_advertisements(SESSION, said, keys=1)


@pytest.mark.parametrize("above", [0, 1, 18])
def test_a_key_that_is_not_below_the_fields_prime_is_refused(above: int) -> None:
    """The largest below it passes: whether a key is usable is seen when it meets another."""
    largest, wrapped = (number.to_bytes(32, "little") for number in (FIELD_PRIME - 1, FIELD_PRIME + above))
    check_advertisements(SESSION, {"north": advertised("north", largest)}, keys=1)
    with pytest.raises(MessageError, match="north"):
        check_advertisements(SESSION, {"north": advertised("north", wrapped)}, keys=1)


def test_one_key_for_both_purposes_is_refused() -> None:
    """Shares of the one are handed out to open masks; sealed messages would open with them too."""
    said = {"north": advertised("north", KEYS["north"][0], KEYS["north"][0])}
    with pytest.raises(WrongContributors):
        check_advertisements(SESSION, said, keys=2)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_too_many_or_too_few_keys_are_refused_although_they_are_signed(count: int) -> None:
    data = advertised("north", *(bytes([number] * 32) for number in range(1, count + 1)))
    with pytest.raises(MessageError):
        check_advertisements(SESSION, {"north": data}, keys=2)


@pytest.mark.parametrize("sizes", [(31, 32), (32, 33), (31, 33), (0, 32), (64, 0)], ids=str)
def test_keys_of_another_size_are_refused_although_they_are_signed(sizes: tuple[int, int]) -> None:
    data = advertised("north", *(bytes([7] * size) for size in sizes))
    with pytest.raises(MessageError):
        check_advertisements(SESSION, {"north": data}, keys=2)


def test_bytes_that_are_no_advertisement_are_refused() -> None:
    with pytest.raises(MessageError):
        check_advertisements(SESSION, {"north": b"\xff" * 40}, keys=2)
