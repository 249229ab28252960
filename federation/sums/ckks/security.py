"""How wide keys and errors must be, and how large the modulus may be, for 128 bits after everything that is revealed.

**What is revealed.** Silo i sends c_i = a s_i + e_i + m_i. At the end the aggregator knows S = sum s_i and, below the
message, the sum of the errors. With what silos on its side tell it, it knows s + t and e + f for the keys s, t and
errors e, f of any two honest silos: one *hint* on each. The rest of the argument is a walk from silo to silo: if
a s + e looks uniform to whoever knows these hints, every honest upload but one may be replaced by a uniform
polynomial, and the last by what makes the sum come out right. So the uploads tell the sum of the honest silos' vectors
and nothing else (Bell et al. 2023, ACORN, section 3.2). More honest silos only add randomness that nobody knows. The
walk takes one step for each honest silo but one, and an aggregator that picks the list after it has seen the uploads
must be guessed: the advantage grows by up to n^3 in all, which the table of costs does not count.

**What the hints cost.** By the Hint-RLWE theorem (Kim, Lee, Seo and Song, CRYPTO 2023), ring-LWE with the hint
(s, e) + (t, f), where all four are discrete Gaussians of standard deviation sigma, is as hard as plain ring-LWE with
standard deviation sigma_0 for both key and error, where

    1 / sigma_0^2 = 2 (1 / sigma^2 + 1 / sigma^2),   that is   sigma_0 = sigma / 2,

up to an advantage of 2 epsilon, if sigma_0 is at least sqrt(2) times the smoothing parameter of the integers in all n
coordinates of key and errors, which in standard deviations is

    sigma_0 >= sqrt(ln(2 n (1 + 1 / epsilon))) / pi.

With sigma^2 = 44, sigma_0 is 3.317, and epsilon = 2^-128 allows n up to 2^27 coordinates, a vector of 10^9 entries.

**How large q may be.** The moduli below are the largest that SEAL's own check for 128 bits takes, with the small prime
that it reserves. For sigma_0 and these moduli the lattice estimator, by its default model (MATZOV), finds no attack
below 2^132 operations; tests/vectors/rlwe_costs.json has its costs, and a test looks derived sessions up in it. Counted
by core-SVP (ADPS16), as some do, everything is about 30 bits lower.
"""

import math

VARIANCE = 44
"""Variance sigma^2 of the discrete Gaussian that keys and errors are drawn from."""

HARDNESS_DEVIATION = math.sqrt(VARIANCE) / 2
"""sigma_0: the standard deviation of the plain ring-LWE problem that security rests on, after the hints."""

HINT_BITS = 128
"""Bits b of epsilon = 2^-b; the hints cost an advantage of at most 2 epsilon."""

MODULUS_BITS = {4096: 91, 8192: 200, 16384: 420}
"""Bits of the largest modulus by degree."""


def smoothing_deviation(coordinates: int) -> float:
    """The least sigma_0 for which the theorem holds over this many coordinates of key and errors."""
    return math.sqrt(math.log(2 * coordinates) + math.log1p(2.0**HINT_BITS)) / math.pi


def largest_total(silos: int, entries: int, *, tail_bits: int) -> int:
    """Return what no entry of this many silos' summed keys, or errors, exceeds but with probability 2^-tail_bits.

    A discrete Gaussian is sub-Gaussian with its own variance as proxy, and so is a sum with the variances added up.
    """
    return math.ceil(math.sqrt(2 * silos * VARIANCE * math.log(2 * entries * 2.0**tail_bits)))
