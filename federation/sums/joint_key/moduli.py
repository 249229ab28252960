"""The rings of the joint-key sum: primes of 60 bits each, as many as SEAL's 128-bit security allows."""

from siloseal.federation.sums.seal import ring
from siloseal.federation.sums.seal.ring import Ring

PRIME_BITS = 60
PRIMES = {8192: 3, 16384: 7}
"""Number of primes of q by degree. The last is the one that uploads and openings are divided by."""


def ring_of(degree: int) -> Ring:
    """The ring of this degree."""
    return ring.ring_of(degree, (PRIME_BITS,) * PRIMES[degree], divides=True)
