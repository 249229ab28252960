"""Messages that silos seal for each other: who can open one, and where; and the agreement of keys beneath them."""

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from siloseal.federation.errors import SealBroken
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.sealing import SEAL_BYTES, AgreementKey, ChannelKey

ALICE, BOB, EVE = (ChannelKey.draw(SecureRandomness()) for _ in range(3))
MESSAGE = b"a share of 66 bytes, or anything else"
CONTEXT = b"session, alice to bob"
SEALED = ALICE.seal(BOB.public, MESSAGE, CONTEXT)

_PRIME = 2**255 - 19
LOW_ORDER = {
    "zero": bytes(32),
    "one": bytes([1]) + bytes(31),
    "order eight": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "order eight, the other": bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    "minus one": (_PRIME - 1).to_bytes(32, "little"),
    "zero, not reduced": _PRIME.to_bytes(32, "little"),
    "one, not reduced": (_PRIME + 1).to_bytes(32, "little"),
}
"""Points whose shared secret is zero with every key: cr.yp.to/ecdh.html, "How do I validate Curve25519 public keys"."""


RFC_7748 = {
    "alice private": bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"),
    "alice public": bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
    "bob private": bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"),
    "bob public": bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"),
    "shared": bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"),
}
"""Section 6.1."""


def rfc_7748_cipher(context: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=context).derive(RFC_7748["shared"]))


@pytest.mark.parametrize("message", [MESSAGE, b"", bytes(100_000)], ids=["short", "empty", "long"])
def test_the_receiver_reads_what_the_sender_sealed(message: bytes) -> None:
    assert BOB.unseal(ALICE.public, ALICE.seal(BOB.public, message, CONTEXT), CONTEXT) == message


def test_a_sealed_message_does_not_show_the_message() -> None:
    assert len(SEALED) == len(MESSAGE) + SEAL_BYTES == 12 + len(MESSAGE) + 16  # nonce, message, tag
    assert not any(MESSAGE[start : start + 4] in SEALED for start in range(len(MESSAGE) - 4))


def test_an_altered_byte_anywhere_breaks_the_seal() -> None:
    for index in range(len(SEALED)):
        altered = bytearray(SEALED)
        altered[index] ^= 1
        with pytest.raises(SealBroken):
            BOB.unseal(ALICE.public, bytes(altered), CONTEXT)


@pytest.mark.parametrize("sealed", [b"", SEALED[:7], SEALED[:12], SEALED[:27], SEALED[:-1], SEALED + b"\0"], ids=len)
def test_a_message_of_another_length_breaks_the_seal(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        BOB.unseal(ALICE.public, sealed, CONTEXT)


def test_a_message_does_not_open_in_another_context() -> None:
    with pytest.raises(SealBroken):
        BOB.unseal(ALICE.public, SEALED, CONTEXT + b"!")


def test_a_message_does_not_open_for_another_receiver() -> None:
    with pytest.raises(SealBroken):
        EVE.unseal(ALICE.public, SEALED, CONTEXT)


def test_a_message_does_not_open_as_another_senders() -> None:
    with pytest.raises(SealBroken):
        BOB.unseal(EVE.public, SEALED, CONTEXT)


def test_one_message_sealed_twice_does_not_look_alike() -> None:
    """The nonce is fresh: two of 12 bytes coincide with probability 2^-96."""
    again = ALICE.seal(BOB.public, MESSAGE, CONTEXT)
    assert again[:12] != SEALED[:12]
    assert again[12:] != SEALED[12:]


@pytest.mark.parametrize("public", LOW_ORDER.values(), ids=LOW_ORDER.keys())
def test_a_public_key_whose_secret_everyone_knows_is_refused(public: bytes) -> None:
    with pytest.raises(SealBroken):
        ALICE.seal(public, MESSAGE, CONTEXT)
    with pytest.raises(SealBroken):
        ALICE.unseal(public, SEALED, CONTEXT)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_public_key_of_the_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(SealBroken):
        ALICE.seal(bytes([9] * length), MESSAGE, CONTEXT)


def test_the_exchange_is_that_of_rfc_7748() -> None:
    alice, bob = ChannelKey(RFC_7748["alice private"]), ChannelKey(RFC_7748["bob private"])
    assert alice.public == RFC_7748["alice public"]
    assert bob.public == RFC_7748["bob public"]
    sealed = alice.seal(bob.public, MESSAGE, CONTEXT)
    assert rfc_7748_cipher(CONTEXT).decrypt(sealed[:12], sealed[12:], CONTEXT) == MESSAGE


@pytest.mark.parametrize("context", [b"session, bob to alice", b""])
def test_the_key_of_a_message_is_derived_for_its_context(context: bytes) -> None:
    """HKDF with the context as info: another context has an unrelated key."""
    sealed = ChannelKey(RFC_7748["alice private"]).seal(RFC_7748["bob public"], MESSAGE, context)
    assert rfc_7748_cipher(context).decrypt(sealed[:12], sealed[12:], context) == MESSAGE


def test_a_key_comes_back_from_its_private_bytes() -> None:
    again = ChannelKey(BOB.private_bytes())
    assert again.public == BOB.public
    assert again.unseal(ALICE.public, SEALED, CONTEXT) == MESSAGE


def test_two_drawn_keys_differ() -> None:
    assert len({ALICE.public, BOB.public, EVE.public}) == 3


class TestTheAgreement:
    ALICE, BOB = AgreementKey(RFC_7748["alice private"]), AgreementKey(RFC_7748["bob private"])

    def test_has_the_public_keys_of_rfc_7748(self) -> None:
        assert self.ALICE.public == RFC_7748["alice public"]
        assert self.BOB.public == RFC_7748["bob public"]

    @pytest.mark.parametrize("context", [CONTEXT, b"", bytes(100)], ids=["usual", "empty", "long"])
    def test_is_hkdf_of_the_shared_secret_of_rfc_7748(self, context: bytes) -> None:
        """RFC 5869 written out: extract under a salt of zeros, then one block of expansion."""
        extracted = hmac.digest(bytes(32), RFC_7748["shared"], hashlib.sha256)
        assert self.ALICE.agree(self.BOB.public, context) == hmac.digest(extracted, context + b"\1", hashlib.sha256)

    def test_is_the_same_for_both(self) -> None:
        first, second = (AgreementKey.draw(SecureRandomness()) for _ in range(2))
        agreed = first.agree(second.public, CONTEXT)
        assert agreed == second.agree(first.public, CONTEXT)
        assert agreed == first.agree(second.public, CONTEXT)  # and the next time
        assert len(agreed) == 32

    def test_is_another_one_in_another_context_and_with_another_silo(self) -> None:
        eve = AgreementKey.draw(SecureRandomness())
        agreed = {
            self.ALICE.agree(other.public, context)
            for other in (self.BOB, eve)
            for context in (CONTEXT, CONTEXT + b"!")
        }
        assert len(agreed) == 4
        assert eve.agree(self.BOB.public, CONTEXT) not in agreed

    @pytest.mark.parametrize("public", LOW_ORDER.values(), ids=LOW_ORDER.keys())
    @pytest.mark.parametrize("top_bit", [0, 128])
    def test_is_refused_with_every_point_of_low_order(self, public: bytes, top_bit: int) -> None:
        """X25519 ignores the top bit, so that each can be written in two ways. A second try meets the same."""
        written = public[:31] + bytes([public[31] | top_bit])
        for _ in range(2):
            with pytest.raises(SealBroken):
                self.ALICE.agree(written, CONTEXT)
            with pytest.raises(SealBroken):
                self.ALICE.meet(written)

    @pytest.mark.parametrize("length", [0, 31, 33, 64])
    def test_is_refused_with_a_public_key_of_another_length(self, length: int) -> None:
        with pytest.raises(SealBroken):
            self.ALICE.agree(bytes([9] * length), CONTEXT)

    def test_key_does_not_print_itself(self) -> None:
        assert repr(self.ALICE) == "AgreementKey(<secret>)"
