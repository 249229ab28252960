"""Every size of the scheme, derived from the domain, the number of silos and the precision.

A coefficient of the sum, once the key of the sum has taken a S away, is an integer below q that looks like

    | 0 | value V-1 | ... | value 1 | value 0 | floor |        floor: what the summed errors may reach

written in mixed radix: a value of the sum takes one of n * largest + 1 numbers and just as much room, not a whole
number of bits. The zero on top is one bit. It shows a key share or a ciphertext that is not what it should be: opened
with a wrong key, a coefficient is uniform below q, and passes with probability one half; there are 64 of them at least.

Coefficients travel as such, so that only those are sent that carry values.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.ckks.security import HARDNESS_DEVIATION, MODULUS_BITS, largest_total, smoothing_deviation
from siloseal.federation.sums.rlwe.values import require_values
from siloseal.federation.sums.session import Domain

if TYPE_CHECKING:
    from siloseal.federation.sums.rlwe.polynomial_ring import Ring

TAIL_BITS = 40
"""Bits b such that a session of honest silos fails with probability 2^-b at most by errors, and by key shares."""

COLUMNS = 64
"""Divisor of the number of coefficients, so that they can be packed into words."""

_WIDEST_RADIX = 40  # bits; divided by in machine words together with a digit of 16
_WIDEST_PRIME, _FEWEST_BITS = 60, 40


@dataclass(frozen=True)
class Parameters:
    """The sizes of one session."""

    silos: int
    length: int
    degree: int
    values: int
    """Number of values in each coefficient."""
    largest: int
    """Largest value of one silo."""

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """Factors of a number above every value of the sum, each small enough for machine words to divide by."""
        below = self.silos * self.largest + 1
        low = max(0, below.bit_length() - _WIDEST_RADIX)
        return (2**low, -(-below // 2**low)) if low else (below,)

    @property
    def radix(self) -> int:
        """The product of the radices: the weight of a value relative to the one below it."""
        return math.prod(self.radices)

    @property
    def coefficients(self) -> int:
        """Number of coefficients that carry the vector."""
        return COLUMNS * -(-self.length // (self.values * COLUMNS))

    @property
    def groups(self) -> int:
        """Number of polynomials that the coefficients belong to."""
        return -(-self.coefficients // self.degree)

    @cached_property
    def floor(self) -> int:
        """Number of values that the summed errors may take."""
        return 2 * largest_total(self.silos, self.coefficients, tail_bits=TAIL_BITS) + 1

    @cached_property
    def modulus_bits(self) -> int:
        """Bits of q: of the largest coefficient of a sum, and one more."""
        return max(_FEWEST_BITS, int(2 * self.floor * self.radix**self.values).bit_length())

    @property
    def prime_bits(self) -> tuple[int, ...]:
        """Bits of each prime of q, as equal as can be."""
        count = -(-self.modulus_bits // _WIDEST_PRIME)
        least, longer = divmod(self.modulus_bits, count)
        return (least + 1,) * longer + (least,) * (count - longer)

    @property
    def ring(self) -> "Ring":
        """The ring that ciphertexts are in. Everything else here is plain arithmetic, and needs no SEAL."""
        from siloseal.federation.sums.rlwe.polynomial_ring import ring_of

        return ring_of(self.degree, self.prime_bits)

    @property
    def key_bits(self) -> int:
        """Bits w of the modulus 2^w that the entries of key shares are summed in."""
        return int(2 * largest_total(self.silos, self.degree, tail_bits=TAIL_BITS) + 1).bit_length()

    @property
    def ciphertext_bytes(self) -> int:
        """Size of a silo's ciphertext on the wire."""
        return self.modulus_bits * self.coefficients // 8

    @property
    def key_bytes(self) -> int:
        """Size of a silo's masked key share on the wire."""
        return self.key_bits * self.degree // 8

    @property
    def is_secure(self) -> bool:
        """Whether security.py's argument covers these sizes."""
        coordinates = (1 + self.groups) * self.degree
        return self.modulus_bits <= MODULUS_BITS[self.degree] and smoothing_deviation(coordinates) <= HARDNESS_DEVIATION


@lru_cache(maxsize=64)
def derive(domain: Domain, silos: int, *, precision_bits: int) -> Parameters:
    """The parameters with the shortest upload, or `DomainError` where no coefficient has room for one value."""
    largest = require_values(domain, silos, precision_bits)
    found = [
        parameters
        for degree, most in MODULUS_BITS.items()
        for values in range(1, int(most / math.log2(silos * largest + 1)) + 1)
        if (parameters := Parameters(silos, domain.length, degree, values, largest)).is_secure
    ]
    if not found:
        raise DomainError(
            f"a CKKS sum of {silos} silos cannot carry {domain} at {precision_bits} bits of precision: it has too many "
            "entries for the security argument; split the vector"
        )
    return min(found, key=lambda parameters: parameters.ciphertext_bytes + parameters.key_bytes)
