"""Values into coefficients and back, several in each, by exact matrix products.

Coefficients are wider than any machine word, so they are handled as digits of 16 bits, one row a digit and one column a
coefficient. Residues of digits, and digits of residues, are linear maps with known constants: cut into 20-bit parts,
all products and sums stay below 2^53, where matrix products in double precision are exact.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from federation.ckks.parameters import Parameters
from federation.ckks.ring import PRIME_BITS, ring_of
from federation.ckks.seal_codec import Residues
from federation.errors import OpeningFailed
from federation.randomness import Randomness

Values = NDArray[np.int64]
Digits = NDArray[np.float64]

_DIGIT_BITS, _PART_BITS, _PARTS = 16, 20, 3
_DIGITS_IN_A_WORD = 64 // _DIGIT_BITS


def pack(parameters: Parameters, values: Values) -> Residues:
    """One message's values, at most degree * values of them, as a polynomial times the last prime.

    Times that prime, because what travels is divided by it.
    """
    ring, width = ring_of(parameters.degree), parameters.width
    rows = np.zeros((parameters.values, parameters.degree), dtype=np.uint64)
    rows.reshape(-1)[: values.size] = values.view(np.uint64)
    words = np.zeros((_words(parameters), parameters.degree), dtype=np.uint64)
    for index, row in enumerate(rows):
        word, shift = divmod(parameters.floor_bits + index * width, 64)
        words[word] |= row << np.uint64(shift)
        if shift + width > 64:
            words[word + 1] |= row >> np.uint64(64 - shift)
    return _residues(_digits(words), _residue_constants(parameters.degree, len(words), ring.divisor), ring.primes)


def unpack(parameters: Parameters, scaled: Residues, largest: int) -> Values:
    """All values of one message of the sum, from its residues (primes, degree) times `crt_scale`.

    A value above `largest` cannot come from true openings.
    """
    ring = ring_of(parameters.degree)
    primes = ring.primes[:-1].astype(np.float64)
    # By the remainder theorem the coefficient is sum(scaled_i * Q / q_i) - wraps * Q. It lies between a little below 0
    # and Q / 2, so a quarter keeps the floor away from both ends.
    wraps = np.floor((scaled / primes[:, None]).sum(axis=0) + 0.25)
    parts = [(scaled >> np.uint64(_PART_BITS * part)) & np.uint64(2**_PART_BITS - 1) for part in range(_PARTS)]
    columns = np.concatenate([*parts, wraps[None, :]]).astype(np.float64)
    digits = (_digit_constants(parameters.degree, _words(parameters)) @ columns).astype(np.int64)
    half_word, half_shift = divmod(parameters.floor_bits - 1, _DIGIT_BITS)
    digits[half_word] += 1 << half_shift  # half the floor: what remains of flooding and noise rounds away
    for index in range(len(digits) - 1):
        digits[index + 1] += digits[index] >> _DIGIT_BITS
        digits[index] &= 2**_DIGIT_BITS - 1
    words = _joined(digits)
    values = np.stack([_field(words, parameters, index) for index in range(parameters.values)])
    above = parameters.floor_bits + parameters.values * parameters.width
    if (values > largest).any() or _above(words, above).any():  # what is negative has ones up there
        raise OpeningFailed(
            "what the silos opened is not a sum of their uploads: a silo sent a false partial decryption, or its key "
            "share was not the one it had committed to; begin another sum"
        )
    return values.reshape(-1)


@cache
def crt_scale(degree: int) -> Residues:
    """(Q / q_i)^-1 modulo each prime q_i that stays after the division, Q being their product."""
    primes = [int(prime) for prime in ring_of(degree).primes[:-1]]
    product = _product(primes)
    return np.array([pow(product // prime, -1, prime) for prime in primes], dtype=np.uint64)


def draw_flooding(parameters: Parameters, randomness: Randomness, count: int) -> Residues:
    """`count` polynomials with coefficients uniform in [-2^f, 2^f)."""
    ring, bits = ring_of(parameters.degree), parameters.flooding_bits + 1
    words = -(-bits // 64)
    constants = _residue_constants(parameters.degree, words, 1)
    offset = ring.primes - np.array([pow(2, bits - 1, int(prime)) for prime in ring.primes], dtype=np.uint64)
    drawn = np.frombuffer(randomness.bits(8 * count * words * ring.degree), dtype="<u8").copy()
    drawn = drawn.reshape(count, words, ring.degree)
    drawn[:, -1] &= np.uint64(2 ** (bits - 64 * (words - 1)) - 1)
    return np.stack([(_residues(_digits(each), constants, ring.primes) + offset[:, None]) % ring.primes[:, None]
                     for each in drawn])  # fmt: skip


def _words(parameters: Parameters) -> int:
    return -(-PRIME_BITS * (len(ring_of(parameters.degree).primes) - 1) // 64) + 1


def _digits(words: Residues) -> Digits:
    """(words, degree) to (digits, degree), least first."""
    columns = words.astype("<u8").view("<u2").reshape(*words.shape, _DIGITS_IN_A_WORD)
    return columns.transpose(0, 2, 1).reshape(-1, words.shape[1]).astype(np.float64)


def _joined(digits: NDArray[np.int64]) -> Residues:
    """The inverse of `_digits`."""
    rows = digits.view(np.uint64).reshape(-1, _DIGITS_IN_A_WORD, digits.shape[1])
    shifts = np.arange(_DIGITS_IN_A_WORD, dtype=np.uint64) * np.uint64(_DIGIT_BITS)
    joined: Residues = np.bitwise_or.reduce(rows << shifts[:, None], axis=1)
    return joined


def _residues(digits: Digits, constants: Digits, primes: Residues) -> Residues:
    """The integers with these digits, times the constants' factor, modulo each prime: (primes, degree)."""
    sums: Residues = (constants @ digits).astype(np.uint64)
    low, middle, high = sums.reshape(_PARTS, len(primes), digits.shape[1])
    modulus = primes[:, None]
    # high * 2^40 has up to 81 bits. Its quotient by the prime has 21, so double precision finds it within one, and the
    # remainder comes out right although the products wrap around.
    quotient = np.floor(high.astype(np.float64) * 2.0 ** (2 * _PART_BITS) / modulus.astype(np.float64))
    rest = ((high << np.uint64(2 * _PART_BITS)) - quotient.astype(np.uint64) * modulus).view(np.int64)
    rest += np.where(rest < 0, modulus.view(np.int64), 0)
    total: Residues = rest.view(np.uint64)
    total += (low + (middle << np.uint64(_PART_BITS))) % modulus
    total %= modulus
    return total


@cache
def _residue_constants(degree: int, words: int, factor: int) -> Digits:
    """Parts of factor * 2^(16 d) modulo each prime: (parts * primes, digits)."""
    primes = [int(prime) for prime in ring_of(degree).primes]
    powers = [[(factor << (_DIGIT_BITS * digit)) % prime for digit in range(_DIGITS_IN_A_WORD * words)]
              for prime in primes]  # fmt: skip
    mask = 2**_PART_BITS - 1
    parts = [[[(power >> (_PART_BITS * part)) & mask for power in row] for row in powers] for part in range(_PARTS)]
    return np.array(parts, dtype=np.float64).reshape(_PARTS * len(primes), -1)


@cache
def _digit_constants(degree: int, words: int) -> Digits:
    """Digits of 2^(20 p) * Q / q_i for each part p and prime q_i, and of -Q: (digits, parts * primes + 1)."""
    primes = [int(prime) for prime in ring_of(degree).primes[:-1]]
    product, mask = _product(primes), 2**_DIGIT_BITS - 1
    numbers = [(product // prime) << (_PART_BITS * part) for part in range(_PARTS) for prime in primes]
    positions = [_DIGIT_BITS * digit for digit in range(_DIGITS_IN_A_WORD * words)]
    columns = [[(number >> position) & mask for position in positions] for number in numbers]
    columns.append([-((product >> position) & mask) for position in positions])
    return np.array(columns, dtype=np.float64).T


def _field(words: Residues, parameters: Parameters, index: int) -> Values:
    word, shift = divmod(parameters.floor_bits + index * parameters.width, 64)
    value = words[word] >> np.uint64(shift)
    if shift + parameters.width > 64:
        value = value | (words[word + 1] << np.uint64(64 - shift))
    field: Values = (value & np.uint64(2**parameters.width - 1)).view(np.int64)
    return field


def _above(words: Residues, bits: int) -> Residues:
    """What lies at this bit and above."""
    word, shift = divmod(bits, 64)
    rest = np.concatenate([words[word : word + 1] >> np.uint64(shift), words[word + 1 :]])
    above: Residues = np.bitwise_or.reduce(rest, axis=0)
    return above


def _product(factors: list[int]) -> int:
    product = 1
    for factor in factors:
        product *= factor
    return product
