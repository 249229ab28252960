"""Every size of the scheme, derived from the domain, the number of silos, the precision and the statistical distance.

A coefficient of the sum, divided by the last prime, is an integer below q' (q without that prime) and looks like

    | 0 | value V-1 | ... | value 1 | value 0 | floor |        floor: what noise and flooding may reach

**Noise.** A silo encrypts as c0 = b u + e0 + m, c1 = a u + e1, with the joint key b = a s + e. The joint secret s is
the sum of n ternary polynomials, e the sum of n error polynomials. What stays in c0 - c1 s is e u + e0 - e1 s.
A coefficient of e u is a sum of N products of independent entries, with variance N (10.5 n) (2/3); that of e1 s has the
same. So a coefficient of the sum of n ciphertexts has the variance

    n (2 * 2/3 * 10.5 n N + 10.5),

which grows with n twice: in the sum and in the key. For given s and e, the noise is linear in u, e0 and e1, which are
sub-Gaussian with their variances as proxies (ternary: (1 + 2 cosh x) / 3 <= exp(x^2 / 3); coin pairs: cosh(x / 2)^42 <=
exp(10.5 x^2 / 2)). That gives `noise_bound`, which no coefficient of the opening exceeds but with probability 2^-40.

**Flooding.** A silo adds to each coefficient that it opens an integer uniform in [-2^f, 2^f). Shifted by x, a uniform
distribution over 2^(f+1) integers moves by |x| / 2^(f+1) in statistical distance; over M independent coefficients the
distances add up; and over everything else that is random, the distance of what an adversary sees is at most the mean.
So it is at most M E|noise| / 2^(f+1), and E|noise| is at most the standard deviation. f is the least with which this
stays within the wanted distance, and then as large as the bits allow that no further value could use. One silo's
flooding is enough by itself: the bound holds if all other silos tell theirs.

c0 and what a silo opens travel divided by the last prime: both are rounded to what the floor swallows anyway. c1 does
not, because its rounding errors would be multiplied by the secret.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.joint_key.moduli import DIVISORS, PRIME_BITS, PRIMES
from siloseal.federation.sums.joint_key.sampling import ERROR_VARIANCE, TERNARY_VARIANCE
from siloseal.federation.sums.rlwe.values import require_values
from siloseal.federation.sums.session import Domain

TAIL_BITS = 40
"""Bits b such that the noise of a session passes `noise_bound` with probability 2^-b at most."""


@dataclass(frozen=True)
class Parameters:
    """The sizes of one session."""

    silos: int
    length: int
    degree: int
    width: int
    """Bits of one value of the sum."""
    values: int
    """Number of values in each coefficient."""
    flooding_bits: int
    """Bits f of the flooding, which is uniform in [-2^f, 2^f)."""
    keys: int
    """Number of polynomials of the joint key, and of messages that share one c1."""

    @property
    def messages(self) -> int:
        """Number of polynomials that carry the vector."""
        return -(-self.length // (self.degree * self.values))

    @property
    def groups(self) -> int:
        """Number of ciphertexts. Each is one c1 and up to `keys` c0."""
        return -(-self.messages // self.keys)

    @property
    def floor_bits(self) -> int:
        """Bits below the lowest value: twice what flooding, noise and rounding reach together after the division."""
        reach = self.silos * 2**self.flooding_bits + math.ceil(self.noise_bound)
        rounding = self.silos  # c0 and the opening of each silo become integers, each by half at most
        return (2 * math.ceil(Fraction(reach, DIVISORS[self.degree]) + rounding)).bit_length()

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise in a coefficient of the sum of all ciphertexts, before the division."""
        product = self.degree * self.silos * TERNARY_VARIANCE * ERROR_VARIANCE
        return math.sqrt(self.silos * (2 * product + ERROR_VARIANCE))

    @property
    def noise_bound(self) -> float:
        """Largest noise of a coefficient of the whole opening, but with probability 2^-40."""
        # The squared norms of s and e exceed their means by less than 16 %: ten deviations, from degree 8192 on.
        return self.noise_deviation * math.sqrt(1.16 * 2 * math.log(2 * self.coefficients * 2.0**TAIL_BITS))

    @property
    def coefficients(self) -> int:
        """Number of coefficients of the whole opening."""
        return self.messages * self.degree

    @property
    def statistical_distance(self) -> float:
        """Distance between what a silo opens and what tells nothing but the sum, over the whole opening."""
        return self.coefficients * self.noise_deviation / 2.0 ** (self.flooding_bits + 1)

    @property
    def statistical_distance_log2(self) -> float:
        """Logarithm of the statistical distance to base 2."""
        return math.log2(self.statistical_distance)

    @property
    def fits(self) -> bool:
        """Whether a coefficient of the sum has room for everything, with a zero on top."""
        return self.floor_bits + self.values * self.width < PRIME_BITS * (PRIMES[self.degree] - 1)

    @property
    def polynomials(self) -> int:
        """Number of residue rows that a silo sends and gets: key shares, ciphertext, opening, and what it checks."""
        primes = PRIMES[self.degree]
        sent = (self.keys + self.groups) * primes + 2 * self.messages * (primes - 1)
        return sent + self.silos * (self.keys + self.groups) * primes


def derive(domain: Domain, silos: int, *, precision_bits: int, distance_bits: int) -> Parameters:
    """The parameters with the least traffic, or `DomainError` where no coefficient has room for one value."""
    width = int(silos * require_values(domain, silos, precision_bits)).bit_length()
    candidates = [_fullest(domain.length, silos, degree, width, distance_bits) for degree in PRIMES]
    found = [parameters for parameters in candidates if parameters is not None]
    if not found:
        raise DomainError(
            f"a CKKS sum of {silos} silos cannot carry {domain} at {precision_bits} bits of precision: no coefficient "
            f"has room for a value of {width} bits and its flooding; lower the precision or the modulus"
        )
    return min(found, key=lambda parameters: parameters.polynomials * parameters.degree)


def _fullest(length: int, silos: int, degree: int, width: int, distance_bits: int) -> Parameters | None:
    """Parameters with as many values a coefficient as fit, then as much flooding as the bits that are left allow."""
    wanted = 2.0**-distance_bits
    for values in range(PRIME_BITS * PRIMES[degree] // max(width, 1), 0, -1):
        messages = -(-length // (degree * values))
        flooded = [
            Parameters(silos, length, degree, width, values, bits, keys=max(1, round(math.sqrt(messages))))
            for bits in range(PRIME_BITS, 2 * PRIME_BITS)
        ]
        if fitting := [p for p in flooded if p.fits and p.statistical_distance <= wanted]:
            return fitting[-1]
    return None
