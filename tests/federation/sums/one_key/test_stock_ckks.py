"""Stock CKKS: measured errors against the derived bound, and what is refused."""

import copy
import math

import numpy as np
import pytest
import tenseal as ts

from siloseal.federation.errors import DomainError, MessageError, OpeningFailed
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.sums.one_key.cipher import Key
from siloseal.federation.sums.one_key.one_key_sum import StockCkksSum
from siloseal.federation.sums.one_key.stock_ckks import StockCipher
from siloseal.federation.sums.one_key.stock_parameters import DEGREE, SCALE_BITS, SLOTS
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain
from siloseal.federation.transport.wire import stock_ckks_pb2 as pb

OS = SecureRandomness()
REALS = RealDomain(SLOTS + 100, 8.0)
CIPHER = StockCipher(REALS, 4)


@pytest.fixture(scope="module")
def key() -> Key:
    return CIPHER.draw_key()


def real_vectors(domain: RealDomain, count: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(-domain.bound, domain.bound, (count, domain.length))


def summed(cipher: StockCipher, key: Key, vectors: np.ndarray) -> np.ndarray:
    return np.asarray(key.decrypt(cipher.adder(b"").add([key.encrypt(vector, OS) for vector in vectors])))


class TestTheError:
    @pytest.mark.parametrize(("bound", "silos"), [(1e-3, 4), (8.0, 1), (8.0, 16), (1e6, 4), (2.0**56, 4)])
    def test_stays_within_its_bound(self, bound: float, silos: int) -> None:
        """The bound fails with probability 2^-40."""
        domain = RealDomain(SLOTS, bound)
        cipher, vectors = StockCipher(domain, silos), real_vectors(domain, silos)
        exact = [math.fsum(entries) for entries in zip(*vectors, strict=True)]
        error = np.abs(summed(cipher, cipher.draw_key(), vectors) - exact).max()
        assert 0 < error <= cipher.error_bound(silos)

    def test_is_as_large_as_its_derivation_says(self) -> None:
        """|t1|^2 is N / 12 on average and |s|^2 2 N / 3; half of their product is in the real part: n N^2 / 36 an entry.

        As a product of two normals, its square varies by sqrt(5) of its mean; over 4096 entries the deviation is off
        by a sixth with probability below 1e-6.
        """
        silos = 4
        cipher = StockCipher(RealDomain(SLOTS, 1.0), silos)
        vectors = cipher.grid * np.rint(real_vectors(RealDomain(SLOTS, 1.0), silos) / cipher.grid)
        error = summed(cipher, cipher.draw_key(), vectors) - vectors.sum(axis=0)
        expected = math.sqrt(silos) * DEGREE / 6 / 2.0**SCALE_BITS
        assert 5 / 6 < error.std() / expected < 7 / 6

    def test_the_grid_is_a_power_of_two_above_twice_the_error_of_one_silo(self) -> None:
        grid = StockCkksSum().grid(REALS)
        assert math.frexp(grid)[0] == 0.5
        assert grid / 2 < 2 * StockCipher(REALS, 1).noise(1) <= grid
        assert StockCkksSum().grid(IntegerDomain(5, 7)) == 0

    @pytest.mark.parametrize("modulus", [2, 1000, 2**20, 2**34])
    def test_integers_are_exact_at_the_bounds(self, modulus: int) -> None:
        cipher = StockCipher(IntegerDomain(50, modulus), 4)
        vectors = np.random.default_rng(4).integers(0, modulus, (4, 50))
        vectors[:, 0], vectors[:, 1] = 0, modulus - 1
        assert cipher.error_bound(4) == 0
        np.testing.assert_array_equal(summed(cipher, cipher.draw_key(), vectors), vectors.sum(axis=0) % modulus)


@pytest.mark.parametrize(
    "domain",
    [RealDomain(3, 2.0**57), RealDomain(3, math.inf), RealDomain(3, 0.0), RealDomain(0, 1.0), IntegerDomain(3, 1)],
    ids=str,
)
def test_a_domain_that_could_pass_the_modulus_is_refused(domain: Domain) -> None:
    with pytest.raises(DomainError, match=r"2\^58"):
        StockCipher(domain, 4)


def test_integers_that_cannot_be_told_from_the_next_are_refused() -> None:
    with pytest.raises(DomainError, match="`kind: paillier`"):
        StockCipher(IntegerDomain(3, 2**36), 4)


def test_encryptions_of_the_same_vector_differ(key: Key) -> None:
    vector = np.zeros(REALS.length)
    first, second = (pb.StockCiphertexts.FromString(key.encrypt(vector, OS)).parts for _ in range(2))
    assert len(first) == len(second) == 2
    assert all(one != other for one, other in zip(first, second, strict=True))


class TestACiphertextThatIsRefused:
    """By the aggregator and by the silo."""

    def refuse(self, key: Key, ciphertext: bytes) -> None:
        for read in (CIPHER.adder(b"").check, key.decrypt):
            with pytest.raises(MessageError):
                read(ciphertext)

    @pytest.mark.parametrize("where", [10, 5000, 200_000])
    def test_because_it_was_altered(self, key: Key, where: int) -> None:
        good = key.encrypt(real_vectors(REALS, 1)[0], OS)
        CIPHER.adder(b"").check(good)
        self.refuse(key, good[:where] + bytes(16) + good[where + 16 :])

    @pytest.mark.parametrize("parts", [0, 1, 3])
    def test_because_it_has_another_number_of_parts(self, key: Key, parts: int) -> None:
        whole = pb.StockCiphertexts.FromString(key.encrypt(np.zeros(REALS.length), OS)).parts
        listed = [whole[0], whole[1], whole[1]][:parts]
        self.refuse(key, pb.StockCiphertexts(parts=listed).SerializeToString())

    @pytest.mark.parametrize("second", [b"", b"\xff" * 50, bytes(300_000)], ids=["empty", "noise", "large"])
    def test_because_a_part_is_none(self, key: Key, second: bytes) -> None:
        first = pb.StockCiphertexts.FromString(key.encrypt(np.zeros(REALS.length), OS)).parts[0]
        self.refuse(key, pb.StockCiphertexts(parts=[first, second]).SerializeToString())

    @pytest.mark.parametrize("change", ["scale", "primes", "level", "entries"])
    def test_because_it_has_other_parameters(self, key: Key, change: str) -> None:
        bits = [60, 40, 40, 60] if change == "primes" else [60, 40, 40]
        context = ts.context(ts.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=bits, n_threads=1)
        context.global_scale = 2**30 if change == "scale" else 2**40
        parts = [ts.ckks_vector(context, [0.5] * size) for size in (SLOTS, 99 if change == "entries" else 100)]
        if change == "level":
            parts = [part * 2.0 for part in parts]
        self.refuse(key, pb.StockCiphertexts(parts=[part.serialize() for part in parts]).SerializeToString())


class TestTheKey:
    def test_read_by_another_silo_opens_the_same(self, key: Key) -> None:
        vector = real_vectors(REALS, 1)[0]
        private = key.private_bytes()
        assert len(private) <= CIPHER.key_bytes
        other, ciphertext = CIPHER.read_key(private), key.encrypt(vector, OS)
        np.testing.assert_array_equal(other.decrypt(ciphertext), key.decrypt(ciphertext))

    def test_of_another_sum_opens_nothing_that_could_be_a_total(self, key: Key) -> None:
        with pytest.raises(OpeningFailed):
            CIPHER.draw_key().decrypt(key.encrypt(np.zeros(REALS.length), OS))

    def test_does_not_print_or_copy(self, key: Key) -> None:
        assert repr(key) == "StockKey(<secret>)"
        with pytest.raises(TypeError):
            copy.copy(key)

    @pytest.mark.parametrize("bad", ["empty", "noise", "truncated", "public only", "secret only", "primes", "scale"])
    def test_that_is_no_such_context_is_refused(self, key: Key, bad: str) -> None:
        bits = [60, 40, 40, 60] if bad == "primes" else [60, 40, 40]
        context = ts.context(ts.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=bits, n_threads=1)
        context.global_scale = 2**30 if bad == "scale" else 2**40
        written = context.serialize(
            save_public_key=bad != "secret only",
            save_secret_key=bad != "public only",
            save_galois_keys=False,
            save_relin_keys=False,
        )
        private = {"empty": b"", "noise": b"\xff" * 60, "truncated": key.private_bytes()[:-9]}.get(bad, written)
        with pytest.raises(MessageError):
            CIPHER.read_key(private)

    def test_there_is_no_public_part(self, key: Key) -> None:
        assert key.public == b""
        with pytest.raises(MessageError):
            CIPHER.adder(b"\1")
