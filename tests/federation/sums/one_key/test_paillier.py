"""Paillier against its definition in Python's own integers, and what it refuses."""

import copy
import math
import pickle

import numpy as np
import pytest

from siloseal.federation.errors import DomainError, MessageError
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.one_key.paillier import PaillierCipher, PaillierKey
from siloseal.federation.sums.session import IntegerDomain

INSECURE_TEST_KEY_BITS = 1024
DOMAIN = IntegerDomain(100, 2**20)
CIPHER = PaillierCipher(INSECURE_TEST_KEY_BITS, DOMAIN, 3)
OS = SecureRandomness()


class Scripted(SecureRandomness):
    """Draws what it is told to."""

    def __init__(self, *drawn: int) -> None:
        self._drawn = list(drawn)

    def bits(self, count: int) -> bytes:
        return self._drawn.pop(0).to_bytes(count, "big")


@pytest.fixture(scope="module")
def key() -> PaillierKey:
    drawn = CIPHER.draw_key()
    assert isinstance(drawn, PaillierKey)
    return drawn


def primes(key: PaillierKey) -> tuple[int, int]:
    private = key.private_bytes()
    half = len(private) // 2
    return int.from_bytes(private[:half], "big"), int.from_bytes(private[half:], "big")


def textbook_decrypt(unit: int, p: int, q: int) -> int:
    """L(c^lambda mod n^2) / L(g^lambda mod n^2) mod n, without remainders modulo p and q."""
    n, exponent = p * q, math.lcm(p - 1, q - 1)
    raised, of_g = ((pow(base, exponent, n * n) - 1) // n for base in (unit, n + 1))
    return raised * pow(of_g, -1, n) % n


def vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, DOMAIN.modulus, DOMAIN.length)


class TestOneNumber:
    def test_a_recorded_example(self) -> None:
        """p = 251, q = 241, m = 12345, r = 4321; g^m r^n mod n^2 by repeated multiplication."""
        small = PaillierKey(PaillierCipher(16, IntegerDomain(1, 2), 2), 251, 241)
        n, expected = 251 * 241, 1
        for factor, times in ((n + 1, 12345), (4321, n)):
            for _ in range(times):
                expected = expected * factor % n**2
        assert expected == 2701817770
        assert small.encrypt_one(12345, Scripted(4321)) == expected
        assert small.decrypt_one(expected) == 12345

    def test_the_random_factor_is_a_unit_below_n(self) -> None:
        """Zero, n, above n and multiples of a prime are drawn anew."""
        small = PaillierKey(PaillierCipher(16, IntegerDomain(1, 2), 2), 251, 241)
        n = 251 * 241
        script = Scripted(0, n, n + 7, 3 * 251, 5 * 241, 4321)
        assert small.encrypt_one(12345, script) == small.encrypt_one(12345, Scripted(4321))

    @pytest.mark.parametrize("plaintext", [0, 1, 2**500 + 3, 2**1023 - 1])
    def test_decrypts_as_the_textbook_does(self, key: PaillierKey, plaintext: int) -> None:
        unit = key.encrypt_one(plaintext, OS)
        assert key.decrypt_one(unit) == textbook_decrypt(unit, *primes(key)) == plaintext

    def test_a_product_of_ciphertexts_is_the_sum(self, key: PaillierKey) -> None:
        n = math.prod(primes(key))
        units = [key.encrypt_one(plaintext, OS) for plaintext in (2**900, 17, 2**1000 - 1)]
        assert key.decrypt_one(math.prod(units) % n**2) == 2**900 + 17 + 2**1000 - 1


class TestAVector:
    def test_a_sum_of_ciphertexts_decrypts_to_the_sum_of_the_vectors_modulo_the_domains(self, key: PaillierKey) -> None:
        vectors = [vector(seed) for seed in range(3)]
        total = CIPHER.adder(key.public).add([key.encrypt(each, OS) for each in vectors])
        np.testing.assert_array_equal(key.decrypt(total), np.sum(vectors, axis=0) % DOMAIN.modulus)

    def test_is_as_long_as_the_lanes_say(self, key: PaillierKey) -> None:
        """22 bits hold the sum of three of 20; 46 lanes fit 1023 bits; 100 entries take three ciphertexts."""
        assert len(key.encrypt(vector(1), OS)) == CIPHER.ciphertext_bytes == 3 * 2 * 1024 // 8

    def test_encryptions_of_the_same_vector_differ_in_every_ciphertext(self, key: PaillierKey) -> None:
        first, second = key.encrypt(vector(1), OS), key.encrypt(vector(1), OS)
        for start in range(0, len(first), 256):
            assert first[start : start + 256] != second[start : start + 256]
        np.testing.assert_array_equal(key.decrypt(first), key.decrypt(second))

    def test_more_ciphertexts_than_the_lanes_were_made_for_are_not_added(self, key: PaillierKey) -> None:
        with pytest.raises(DomainError, match="4 vectors"):
            CIPHER.adder(key.public).add([key.encrypt(vector(seed), OS) for seed in range(4)])

    @pytest.mark.parametrize("bad", ["zero", "n squared", "a factor of n", "short", "long"])
    def test_damaged_ciphertexts_are_refused_by_aggregator_and_silo(self, key: PaillierKey, bad: str) -> None:
        p, q = primes(key)
        good = key.encrypt(vector(1), OS)
        unit = {"zero": 0, "n squared": (p * q) ** 2, "a factor of n": p}.get(bad)
        damaged = {"short": good[:-1], "long": good + b"\0"}.get(bad, good)
        if unit is not None:
            damaged = good[:256] + unit.to_bytes(256, "big") + good[512:]
        adder = CIPHER.adder(key.public)
        adder.check(good)
        for refuse in (adder.check, key.decrypt):
            with pytest.raises(MessageError):
                refuse(damaged)


class TestTheKey:
    def test_is_drawn_anew_each_time_with_a_modulus_of_the_full_length(self, key: PaillierKey) -> None:
        other = CIPHER.draw_key()
        assert other.private_bytes() != key.private_bytes()
        for drawn in (key.public, other.public):
            assert int.from_bytes(drawn, "big").bit_length() == INSECURE_TEST_KEY_BITS

    def test_read_by_another_silo_opens_the_same(self, key: PaillierKey) -> None:
        other = CIPHER.read_key(key.private_bytes())
        assert other.public == key.public
        np.testing.assert_array_equal(other.decrypt(key.encrypt(vector(2), OS)), vector(2))

    def test_does_not_print_copy_or_pickle(self, key: PaillierKey) -> None:
        assert repr(key) == "PaillierKey(<secret>)"
        for leak in (copy.copy, pickle.dumps):
            with pytest.raises(TypeError):
                leak(key)

    @pytest.mark.parametrize("bad", ["short", "composite", "twice", "small"])
    def test_that_is_not_two_primes_is_refused(self, key: PaillierKey, bad: str) -> None:
        p, _ = primes(key)
        first, second = {"composite": (p, p + 2), "twice": (p, p), "small": (p, 3)}.get(bad, (p, p))
        private = first.to_bytes(64, "big") + second.to_bytes(64, "big")
        with pytest.raises(MessageError):
            CIPHER.read_key(private[:-1] if bad == "short" else private)

    @pytest.mark.parametrize(
        "change", [lambda n: n[:-1], lambda n: n + b"\1", lambda n: b"\0" + n[1:], lambda n: n[:-1] + b"\2"]
    )
    def test_a_public_part_of_another_size_is_refused(self, key: PaillierKey, change) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(MessageError):
            CIPHER.adder(change(key.public))
