"""Packing of several values into each coefficient, and the flooding of what is opened."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.joint_key.moduli import PRIME_BITS, ring_of
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.rlwe import wide
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.wide import DIGIT_BITS, digits_of, residues_of

Values = NDArray[np.int64]

_DIGITS_IN_A_WORD = 64 // DIGIT_BITS


def pack(parameters: Parameters, values: Values) -> Residues:
    """Pack one message's values, at most degree * values of them, into a polynomial times the last prime.

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
    return residues_of(_digits(words), _weights(len(words), ring.divisor), ring.primes)


def unpack(parameters: Parameters, scaled: Residues, largest: int) -> Values:
    """Return all values of one message of the sum, from its residues (primes, degree) times `crt_scale`.

    A value above `largest` cannot come from true openings.
    """
    half = 1 << (parameters.floor_bits - 1)  # half the floor: what remains of flooding and noise rounds away
    words = _joined(digits_of(scaled, ring_of(parameters.degree).primes[:-1], plus=half))
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
    """Factors that `unpack` wants residues multiplied by, over the primes that stay after the division."""
    return wide.crt_scale(ring_of(degree).primes[:-1])


def draw_flooding(parameters: Parameters, randomness: Randomness, count: int) -> Residues:
    """Draw `count` polynomials with coefficients uniform in [-2^f, 2^f)."""
    ring, bits = ring_of(parameters.degree), parameters.flooding_bits + 1
    words = -(-bits // 64)
    offset = ring.primes - np.array([pow(2, bits - 1, int(prime)) for prime in ring.primes], dtype=np.uint64)
    drawn = np.frombuffer(randomness.bits(8 * count * words * ring.degree), dtype="<u8").copy()
    drawn = drawn.reshape(count, words, ring.degree)
    drawn[:, -1] &= np.uint64(2 ** (bits - 64 * (words - 1)) - 1)
    weights = _weights(words, 1)
    return np.stack([(residues_of(_digits(each), weights, ring.primes) + offset[:, None]) % ring.primes[:, None]
                     for each in drawn])  # fmt: skip


def _words(parameters: Parameters) -> int:
    return -(-PRIME_BITS * (len(ring_of(parameters.degree).primes) - 1) // 64) + 1


def _digits(words: Residues) -> NDArray[np.uint16]:
    """Split words (words, degree) into digits (digits, degree), least first."""
    columns = words.astype("<u8").view("<u2").reshape(*words.shape, _DIGITS_IN_A_WORD)
    return columns.transpose(0, 2, 1).reshape(-1, words.shape[1])


def _joined(digits: NDArray[np.int64]) -> Residues:
    """The inverse of `_digits`."""
    rows = digits.view(np.uint64).reshape(-1, _DIGITS_IN_A_WORD, digits.shape[1])
    shifts = np.arange(_DIGITS_IN_A_WORD, dtype=np.uint64) * np.uint64(DIGIT_BITS)
    joined: Residues = np.bitwise_or.reduce(rows << shifts[:, None], axis=1)
    return joined


@cache
def _weights(words: int, factor: int) -> tuple[int, ...]:
    """Weight of each digit of this many words, times the factor."""
    return tuple(factor << (DIGIT_BITS * digit) for digit in range(_DIGITS_IN_A_WORD * words))


def _field(words: Residues, parameters: Parameters, index: int) -> Values:
    word, shift = divmod(parameters.floor_bits + index * parameters.width, 64)
    value = words[word] >> np.uint64(shift)
    if shift + parameters.width > 64:
        value = value | (words[word + 1] << np.uint64(64 - shift))
    field: Values = (value & np.uint64(2**parameters.width - 1)).view(np.int64)
    return field


def _above(words: Residues, bits: int) -> Residues:
    """Return the part of the words at this bit and above."""
    word, shift = divmod(bits, 64)
    rest = np.concatenate([words[word : word + 1] >> np.uint64(shift), words[word + 1 :]])
    above: Residues = np.bitwise_or.reduce(rest, axis=0)
    return above
