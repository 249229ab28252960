"""The rings of the joint-key sum: primes of 60 bits each, as many as SEAL's 128-bit security allows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siloseal.federation.sums.rlwe.polynomial_ring import Ring

PRIME_BITS = 60
PRIMES = {8192: 3, 16384: 7}
"""Number of primes of q by degree. The last is the one that uploads and openings are divided by."""

DIVISORS = {8192: 2**60 - 2**14 + 1, 16384: 2**60 - 3 * 2**15 + 1}
"""The last prime by degree N, the largest below 2^60 that is 1 modulo 2 N: sizes follow from it without SEAL."""


def ring_of(degree: int) -> "Ring":
    """The ring of this degree."""
    from siloseal.federation.sums.rlwe import polynomial_ring

    return polynomial_ring.ring_of(degree, (PRIME_BITS,) * PRIMES[degree], divides=True)
