"""Ciphertexts as bytes: what comes back, and what is refused."""

import numpy as np
import pytest

from siloseal.federation.errors import MessageError
from siloseal.federation.sums.ckks.parameters import Parameters, derive
from siloseal.federation.sums.ckks.wire import rows, to_bytes
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.session import RealDomain

SETTINGS = [
    derive(RealDomain(length, 1.0), 10, precision_bits=bits) for length, bits in ((7, 40), (3_000, 28), (90_000, 16))
]


def uniform(parameters: Parameters) -> Residues:
    draw = np.random.default_rng(3)
    return np.stack(
        [draw.integers(0, int(prime), parameters.coefficients, dtype=np.uint64) for prime in parameters.ring.primes]
    )


@pytest.mark.parametrize("parameters", SETTINGS, ids=lambda sizes: str(sizes.modulus_bits))
class TestBytes:
    def test_coefficients_survive_the_wire(self, parameters: Parameters) -> None:
        coefficients = uniform(parameters)
        coefficients[:, 0], coefficients[:, 1] = 0, parameters.ring.primes - np.uint64(1)
        data = to_bytes(parameters, coefficients)
        np.testing.assert_array_equal(np.stack(list(rows(parameters, data))), coefficients)

    def test_a_coefficient_takes_just_the_bits_of_the_modulus(self, parameters: Parameters) -> None:
        assert len(to_bytes(parameters, uniform(parameters))) == parameters.ciphertext_bytes
        assert 8 * parameters.ciphertext_bytes == parameters.modulus_bits * parameters.coefficients

    def test_another_length_is_refused(self, parameters: Parameters) -> None:
        data = to_bytes(parameters, uniform(parameters))
        for wrong in (data[:-1], data + b"\0", b""):
            with pytest.raises(MessageError):
                list(rows(parameters, wrong))

    def test_a_residue_at_its_prime_is_refused(self, parameters: Parameters) -> None:
        for index, prime in enumerate(parameters.ring.primes):
            coefficients = uniform(parameters)
            coefficients[index, -1] = prime
            with pytest.raises(MessageError):
                list(rows(parameters, to_bytes(parameters, coefficients)))
