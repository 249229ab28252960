"""The key of the joint-key sum, in two ways: by solving for it, which flooding stops, and by a malformed c1.

The first is the computation of `key_recovery`: openings divided by ciphertexts, as if nothing flooded them.

Each silo opens its share of -c1 s, plus flooding, divided by the last prime p and rounded. If it were not for both, the
openings would add up to -c1 s / p, and s would be the quotient. What comes out instead is far from a key, whose
coefficients are at most as large as there are silos. Either of the two stops this computation. That it fails is no
proof; the bound on what a flooded opening tells is derived in `siloseal.federation.sums.joint_key.parameters`.

The second needs a silo that does not follow the protocol. It adds Delta = D p to its c1, a constant polynomial. What
the silos open together is then M - D s, where M is the sum with its flooding. D is a power of two above everything that
M can reach, so that each coefficient, divided by D and rounded, is one of -s. As written here it takes a vector of one
message that leaves coefficients room above its values, as short vectors do; that is no bound on what a cheat can do.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.sums.joint_key.encryption import decode_sum
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.packing import crt_scale
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.rlwe.seal_codec import Residues


def solve_for_joint_key(parameters: Parameters, c1: Residues, openings: Residues) -> NDArray[np.int64]:
    """The joint key of one message, from its c1 and the sum of what the silos opened, both evaluated."""
    ring = ring_of(parameters.degree)
    prime, divisor = int(ring.primes[0]), ring.divisor
    quotients = [
        -divisor * opening * pow(half, -1, prime) % prime
        for half, opening in zip(c1[0].tolist(), openings[0].tolist(), strict=True)
    ]
    evaluated = np.zeros((1, len(ring.primes) - 1, ring.degree), dtype=np.uint64)
    evaluated[0, 0] = quotients
    found = ring.interpolate(evaluated, np.ones(len(ring.primes) - 1, dtype=np.uint64), divided=True)[0, 0]
    found = found.astype(np.int64)
    coefficients: NDArray[np.int64] = np.where(found > prime // 2, found - prime, found)
    if (largest := int(np.abs(coefficients).max())) > parameters.silos:
        raise OpeningFailed(
            f"what solves the equations has coefficients up to {largest:.1e}, but those of a key of {parameters.silos} "
            f"silos are at most {parameters.silos}: the openings are flooded, and rounded by a division"
        )
    return coefficients


def decrypt(
    parameters: Parameters, c0: Residues, c1: Residues, key: NDArray[np.int64], largest: int
) -> NDArray[np.int64]:
    """The values of one message that one silo encrypted."""
    ring = ring_of(parameters.degree)
    minus = ring.evaluate(ring.small(-key[None]))
    opened = ring.multiply_add(c1[None], minus[0], None, divide=True)
    ring.add(opened, c0[None])
    return decode_sum(parameters, opened, largest)


def reading_step(parameters: Parameters) -> int:
    """The step D: above all values that fill a coefficient for this length, and below q' by what a key reaches."""
    filled = -(-parameters.length // parameters.degree)
    step = 4 << (parameters.floor_bits + filled * parameters.width)
    if parameters.messages > 1 or 4 * parameters.silos * step > _divided_modulus(parameters):
        raise OpeningFailed("the vector fills its coefficients: they have no room for a multiple of the key above it")
    return step


def read_multiples(parameters: Parameters, opened: Residues) -> NDArray[np.int64]:
    """The small polynomial x in M + D x, where M is a sum and its flooding: one message, opened and evaluated."""
    ring, modulus, step = ring_of(parameters.degree), _divided_modulus(parameters), reading_step(parameters)
    scaled = ring.interpolate(opened[None], crt_scale(parameters.degree), divided=True)[0].astype(object)
    wholes = [modulus // int(prime) for prime in ring.primes[:-1]]
    coefficients = sum(row * whole for row, whole in zip(scaled, wholes, strict=True)) % modulus
    around_zero = np.where(coefficients > modulus // 2, coefficients - modulus, coefficients)
    multiples: NDArray[np.int64] = ((around_zero + step // 2) // step).astype(np.int64)
    return multiples


def _divided_modulus(parameters: Parameters) -> int:
    """The modulus q' of c0 and openings, once they are divided by the last prime."""
    return prod(int(prime) for prime in ring_of(parameters.degree).primes[:-1])
