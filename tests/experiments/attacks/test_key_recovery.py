"""The key of stock CKKS from one sum; and that each half of the attempt on the shared key would work by itself."""

from dataclasses import replace

import numpy as np
import pytest

from siloseal.experiments.attacks import joint_key_recovery
from siloseal.experiments.attacks.key_recovery import decrypt, recover_key
from siloseal.federation.errors import OpeningFailed
from siloseal.federation.randomness import SecureRandomness
from siloseal.federation.records.identity import Identity
from siloseal.federation.sums.joint_key.encryption import encrypt
from siloseal.federation.sums.joint_key.joint_key_sum import JointKeySum
from siloseal.federation.sums.joint_key.keys import SecretShare, common_polynomial
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.wire import from_bytes
from siloseal.federation.sums.one_key.stock_ckks import StockCipher
from siloseal.federation.sums.one_key.stock_parameters import SLOTS
from siloseal.federation.sums.rlwe.values import largest_value
from siloseal.federation.sums.session import RealDomain, Session

OS = SecureRandomness()
LENGTH = 2 * SLOTS + 100
SILOS = 3


def vectors(largest: float, length: int = LENGTH) -> np.ndarray:
    return np.random.default_rng(3).uniform(-largest, largest, (SILOS, length))


class TestStockCkks:
    """At the silos' table, with a stretch more than the equations need, and one that is not full."""

    @pytest.mark.parametrize("largest", [1e-3, 8.0, 64.0])
    def test_one_sum_gives_the_key_and_the_key_every_upload(self, largest: float) -> None:
        cipher, values = StockCipher(RealDomain(LENGTH, largest), SILOS), vectors(largest)
        key = cipher.draw_key()
        uploads = [key.encrypt(vector, OS) for vector in values]
        summed = cipher.adder(key.public).add(uploads)
        found = recover_key(cipher, summed, key.decrypt(summed))
        for upload, vector in zip(uploads, values, strict=True):
            assert np.abs(decrypt(cipher, upload, found) - vector).max() <= cipher.error_bound(1)

    def test_equal_entries_which_make_the_largest_coefficient_are_no_obstacle(self) -> None:
        cipher = StockCipher(RealDomain(LENGTH, 8.0), 1)
        key = cipher.draw_key()
        upload = key.encrypt(np.full(LENGTH, 8.0), OS)
        found = recover_key(cipher, upload, key.decrypt(upload))
        np.testing.assert_allclose(decrypt(cipher, upload, found), 8.0, atol=cipher.error_bound(1))

    @pytest.mark.parametrize("noise", [1e-9, 1e-3])
    def test_noise_on_what_is_told_leaves_nothing_to_solve(self, noise: float) -> None:
        """Even as little as the noise that is there already; it is not known how much would be enough."""
        cipher = StockCipher(RealDomain(LENGTH, 8.0), 1)
        key = cipher.draw_key()
        upload = key.encrypt(vectors(8.0)[0], OS)
        told = key.decrypt(upload) + np.random.default_rng(4).uniform(-noise, noise, LENGTH)
        with pytest.raises(OpeningFailed):
            recover_key(cipher, upload, told)

    def test_the_sum_of_other_uploads_gives_no_key(self) -> None:
        cipher = StockCipher(RealDomain(LENGTH, 8.0), 1)
        key = cipher.draw_key()
        one, other = (key.encrypt(vector, OS) for vector in vectors(8.0)[:2])
        with pytest.raises(OpeningFailed):
            recover_key(cipher, one, key.decrypt(other))


class TestAJointKey:
    DOMAIN = RealDomain(8192, 8.0)

    @property
    def parameters(self) -> Parameters:
        return JointKeySum().parameters(self.DOMAIN, SILOS)

    def test_openings_without_flooding_and_rounding_would_give_it(self) -> None:
        ring, rng = ring_of(self.parameters.degree), np.random.default_rng(5)
        key = rng.integers(-SILOS, SILOS + 1, ring.degree)
        c1 = rng.integers(1, ring.primes[:, None], (len(ring.primes), ring.degree), dtype=np.uint64)
        exact = ring.multiply_add(c1[None], ring.evaluate(ring.small(-key[None]))[0], None)[0]
        prime = int(ring.primes[0])
        openings = exact.copy()
        openings[0] = [each * pow(ring.divisor, -1, prime) % prime for each in exact[0].tolist()]
        found = joint_key_recovery.solve_for_joint_key(self.parameters, c1, openings[:-1])
        np.testing.assert_array_equal(found, key)

    @pytest.mark.parametrize("flooded", [True, False])
    def test_openings_as_they_are_do_not_even_without_flooding(self, flooded: bool) -> None:
        """Rounding alone stops this computation."""
        ring, share = ring_of(self.parameters.degree), SecretShare.draw(OS)
        c1 = np.random.default_rng(6).integers(1, ring.primes[:, None], (1, *self.shape), dtype=np.uint64)
        opened = (
            share.partial_decrypt(self.parameters, c1, OS)
            if flooded
            else share.decrypt_for_missing(self.parameters, c1)
        )
        with pytest.raises(OpeningFailed):
            joint_key_recovery.solve_for_joint_key(self.parameters, c1[0], opened[0])

    def test_with_the_key_an_upload_would_be_read(self) -> None:
        parameters, ring = self.parameters, ring_of(self.parameters.degree)
        session = Session(bytes(32), ("a",), self.DOMAIN, "ckks", 1, (Identity.create("a").public,))
        common = common_polynomial(session, parameters)
        key = np.random.default_rng(7).integers(-1, 2, ring.degree)
        public = ring.multiply_add(ring.evaluate(ring.small(key[None])), common, None)
        values = np.random.default_rng(8).integers(0, 2**20, self.DOMAIN.length)
        upload = encrypt(parameters, public, common, values, OS)
        c0, c1 = from_bytes(ring, upload.c0, divided=True)[0], from_bytes(ring, upload.c1)[0]
        found = joint_key_recovery.decrypt(parameters, c0, c1, key, largest_value(self.DOMAIN, 28))
        np.testing.assert_array_equal(found, values)

    def test_a_multiple_of_the_key_is_read_off_whatever_is_summed_below_it(self) -> None:
        parameters, ring, rng = self.parameters, ring_of(self.parameters.degree), np.random.default_rng(9)
        key, step = rng.integers(-SILOS, SILOS + 1, ring.degree), joint_key_recovery.reading_step(self.parameters)
        below = 1 << (parameters.floor_bits + parameters.width)
        sums = [int(share * below) for share in rng.uniform(-0.5, 1, ring.degree)]
        opened = [one - step * int(entry) for one, entry in zip(sums, key, strict=True)]
        residues = [[each % int(prime) for each in opened] for prime in ring.primes]
        evaluated = ring.evaluate(np.array(residues, dtype=np.uint64)[None])[0, :-1]
        np.testing.assert_array_equal(-joint_key_recovery.read_multiples(parameters, evaluated), key)

    def test_there_is_no_room_for_it_above_a_vector_that_fills_every_coefficient(self) -> None:
        parameters = self.parameters
        full = replace(parameters, length=parameters.degree * parameters.values)
        with pytest.raises(OpeningFailed):
            joint_key_recovery.reading_step(full)

    @property
    def shape(self) -> tuple[int, int]:
        ring = ring_of(self.parameters.degree)
        return len(ring.primes), ring.degree
