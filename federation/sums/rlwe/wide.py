"""Integers wider than any machine word, many at once: from digits to residues, and from residues back to digits.

An array has one row a digit, or a residue, and one column an integer. Both directions are linear maps with known
constants. Cut into parts of 20 bits, all products and sums stay below 2^53, where matrix products in double precision
are exact.
"""

from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.sums.rlwe.seal_codec import Residues

DIGIT_BITS = 16
"""Bits of a digit that `digits_of` gives."""

_PART_BITS, _PARTS = 20, 3
_MOST_BITS = 64 - 2 * _PART_BITS  # of a column's digits, added up

Digits = NDArray[np.int64]
Weights = tuple[int, ...]


def residues_of(digits: NDArray[np.integer], weights: Weights, primes: Residues) -> Residues:
    """Each column's sum of digits times weights, modulo each prime: (primes, columns).

    Digits are not negative, and those of a column must add up to less than 2^24.
    """
    sums: Residues = (_residue_constants(weights, _numbers(primes)) @ digits.astype(np.float64)).astype(np.uint64)
    low, middle, high = sums.reshape(_PARTS, len(primes), digits.shape[1])
    modulus = primes[:, None]
    # high * 2^40 is wider than a word, but its quotient by the prime is below 2^24, so that double precision finds it
    # within one, and the remainder comes out right although the products wrap around.
    quotient = np.floor(high.astype(np.float64) * 2.0 ** (2 * _PART_BITS) / modulus.astype(np.float64))
    rest = ((high << np.uint64(2 * _PART_BITS)) - quotient.astype(np.uint64) * modulus).view(np.int64)
    rest += np.where(rest < 0, modulus.view(np.int64), 0)
    total: Residues = rest.view(np.uint64)
    total += (low + (middle << np.uint64(_PART_BITS))) % modulus
    total %= modulus
    return total


def fits_residues(digit_bits: int, digits: int) -> bool:
    """Whether `residues_of` takes columns of this many digits of this many bits."""
    return bool(digits * (2**digit_bits - 1) < 2**_MOST_BITS)


def crt_scale(primes: Residues) -> Residues:
    """(Q / q_i)^-1 modulo each prime q_i, Q being their product."""
    numbers = _numbers(primes)
    return np.array([pow(prod(numbers) // prime, -1, prime) for prime in numbers], dtype=np.uint64)


def digits_of(scaled: Residues, primes: Residues, *, plus: int) -> Digits:
    """The digits, least first, of integers whose residues times `crt_scale` these are, after `plus` is added.

    The integers lie between -Q / 5 and 7 Q / 10. Of one that is negative with `plus` added, the highest digit is
    negative.
    """
    # By the remainder theorem the integer is sum(scaled_i * Q / q_i) - wraps * Q. The sum is wrong by far less than
    # Q / 20, so a quarter keeps the floor away from both ends.
    wraps = np.floor((scaled / primes.astype(np.float64)[:, None]).sum(axis=0) + 0.25)
    parts = [(scaled >> np.uint64(_PART_BITS * part)) & np.uint64(2**_PART_BITS - 1) for part in range(_PARTS)]
    columns = np.concatenate([*parts, wraps[None, :]]).astype(np.float64)
    digits = (_digit_constants(_numbers(primes)) @ columns).astype(np.int64)
    for index in range(len(digits)):
        digits[index] += (plus >> (DIGIT_BITS * index)) & (2**DIGIT_BITS - 1)
    for index in range(len(digits) - 1):
        digits[index + 1] += digits[index] >> DIGIT_BITS
        digits[index] &= 2**DIGIT_BITS - 1
    return digits


@lru_cache(maxsize=32)
def _residue_constants(weights: Weights, primes: tuple[int, ...]) -> NDArray[np.float64]:
    """Parts of the weights modulo each prime: (parts * primes, weights)."""
    mask = 2**_PART_BITS - 1
    parts = [
        [[(weight % prime >> (_PART_BITS * part)) & mask for weight in weights] for prime in primes]
        for part in range(_PARTS)
    ]
    return np.array(parts, dtype=np.float64).reshape(_PARTS * len(primes), -1)


@lru_cache(maxsize=32)
def _digit_constants(primes: tuple[int, ...]) -> NDArray[np.float64]:
    """Digits of 2^(20 p) * Q / q_i for each part p and prime q_i, and of -Q: (digits, parts * primes + 1).

    There are as many digits as make whole words of 64 bits, and at least one word more than Q has.
    """
    product, mask = prod(primes), 2**DIGIT_BITS - 1
    words = -(-product.bit_length() // 64) + 1
    numbers = [(product // prime) << (_PART_BITS * part) for part in range(_PARTS) for prime in primes]
    positions = [DIGIT_BITS * digit for digit in range(64 // DIGIT_BITS * words)]
    columns = [[(number >> position) & mask for position in positions] for number in numbers]
    columns.append([-((product >> position) & mask) for position in positions])
    return np.array(columns, dtype=np.float64).T


def _numbers(primes: Residues) -> tuple[int, ...]:
    return tuple(int(prime) for prime in primes)
