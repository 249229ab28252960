"""The usual parameters of stock CKKS, and how far off a sum under them can be.

SEAL encrypts zero under all primes and divides by the last, p. Of the errors of a fresh ciphertext, each at most 21, at
most 21 (2 N + 1) / p is left in a coefficient; but dividing rounds both halves, by uniform t0 and t1 of at most 1/2,
which adds t0 + t1 s with a ternary key s. An entry reads such a polynomial at a root of unity: a sum of N bounded
terms, whose weights' squares add up to N / 2 in the real and in the imaginary part. By Hoeffding's bound (1963) both
parts of s stay below sqrt(N L), and those of t0 and t1, summed over n silos, below sqrt(n N L) / 2, each but with
probability 2 exp(-L); so |t1 s| is at most sqrt(n) N L. L is such that all entries hold but with probability 2^-40.
"""

import math
from dataclasses import dataclass

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.session import Domain, IntegerDomain, RealDomain

DEGREE = 8192
PRIME_BITS = (60, 40, 40)
SCALE_BITS = 40
SLOTS = DEGREE // 2
"""Number of entries of a ciphertext."""

LARGEST_TOTAL_BITS = sum(PRIME_BITS[:-1]) - SCALE_BITS - 2
"""Bits of the largest total. A coefficient is at most this times the scale, and must stay below half of the modulus."""

FAILURE_BITS = 40

PART_BYTES = 2 * (len(PRIME_BITS) - 1) * 8 * DEGREE + 2**10
"""Bytes of the largest ciphertext of one stretch of a vector."""

_CONTEXT_BYTES = 3 * len(PRIME_BITS) * 8 * DEGREE + 2**12

_LARGEST_ERROR = 21  # SEAL draws errors from a centred binomial distribution
_DOUBLES = 2.0**-38
"""Error of double precision, in parts of the largest total. Two transforms of N points are each off by at most
7 log2(N) 2^-53 in L2 (Higham 2002, theorem 24.2), all of which may fall on one entry of N: 2^-40 each, and a few
roundings beside them."""


def noise_bound(*, ciphertexts: int, contributors: int, largest: float) -> float:
    """Return the largest error of an entry of a sum of vectors of `ciphertexts` each, with entries up to `largest`."""
    # Both parts of s, t0 and t1 at each slot: six events, on two sides each.
    likely = math.log(12 * SLOTS * ciphertexts) + FAILURE_BITS * math.log(2)
    rounded = math.sqrt(contributors) * (DEGREE * likely + math.sqrt(DEGREE * likely) / 2)
    fresh = DEGREE * _LARGEST_ERROR * (2 * DEGREE + 1) / 2.0 ** (PRIME_BITS[-1] - 1)
    encoded = DEGREE / 2  # coefficients are rounded, the same in equal vectors: these errors may add up
    noise = (rounded + contributors * (fresh + encoded)) / 2.0**SCALE_BITS
    return noise + contributors * largest * _DOUBLES


@dataclass(frozen=True)
class StockSizes:
    """Sizes and errors for sums of this many silos over this domain."""

    domain: Domain
    silos: int

    def __post_init__(self) -> None:
        """`DomainError` where a total would pass the modulus, or an integer could not be told from the next."""
        if not (self.domain.length >= 1 and 0 < self.largest * self.silos <= 2.0**LARGEST_TOTAL_BITS):
            raise DomainError(
                f"stock CKKS cannot carry sums of {self.silos} silos over {self.domain}; there must be an entry, and "
                f"totals above 0 and up to 2^{LARGEST_TOTAL_BITS}: lower the bound"
            )
        if isinstance(self.domain, IntegerDomain) and self.noise(self.silos) >= 0.5:
            raise DomainError(
                f"stock CKKS is off by up to {self.noise(self.silos):.2g} in sums of {self.silos} silos over "
                f"{self.domain}; integers need less than a half: lower the modulus, or take `kind: paillier`"
            )

    @property
    def key_bytes(self) -> int:
        """Number of bytes of a context: its parameters, the public and the secret key."""
        return _CONTEXT_BYTES

    @property
    def ciphertext_bytes(self) -> int:
        """Number of bytes of a vector's ciphertexts: two polynomials for each stretch."""
        return len(self.stretches) * (PART_BYTES + 8)

    @property
    def stretches(self) -> list[int]:
        """Number of entries in each ciphertext of a vector."""
        return [min(SLOTS, self.domain.length - start) for start in range(0, self.domain.length, SLOTS)]

    @property
    def largest(self) -> float:
        """The largest entry in magnitude."""
        return self.domain.bound if isinstance(self.domain, RealDomain) else float(self.domain.modulus - 1)

    @property
    def grid(self) -> float:
        """The grid that silos round reals to: a power of two that is just above twice the error of one silo's entry."""
        return float(2.0 ** math.ceil(math.log2(2 * self.noise(1)))) if isinstance(self.domain, RealDomain) else 0.0

    def error_bound(self, contributors: int) -> float:
        """Return the largest error of an entry of a sum, as the silos report it."""
        rounding = contributors * self.grid / 2
        return self.noise(contributors) + rounding if isinstance(self.domain, RealDomain) else 0.0

    def noise(self, contributors: int) -> float:
        """Return the largest error of an entry of a sum, before integers are rounded."""
        return noise_bound(ciphertexts=len(self.stretches), contributors=contributors, largest=self.largest)
