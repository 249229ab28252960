"""Packing of values into coefficients, in mixed radix. See parameters.py for what a coefficient looks like."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.wide import DIGIT_BITS, Digits, Weights, digits_of, fits_residues, residues_of

Values = NDArray[np.integer]

_WIDEST_DIGIT = 18  # bits of what `residues_of` multiplies; a coefficient's digits must add up to less than 2^24


def pack(parameters: Parameters, values: Values) -> Residues:
    """Pack values, of shape (values, columns), into coefficients: residues of shape (primes, columns)."""
    count, bits = _digits_of_a_value(parameters)
    if count > 1:
        mask = values.dtype.type(2**bits - 1)
        values = np.concatenate([(values >> values.dtype.type(bits * digit)) & mask for digit in range(count)])
    return residues_of(values, _weights(parameters), parameters.ring.primes)


def unpack(parameters: Parameters, scaled: Residues, contributors: int) -> Values:
    """Return the values of a sum, from its coefficients' residues times `crt_scale`: (values, columns)."""
    digits = digits_of(scaled, parameters.ring.primes, plus=parameters.floor // 2)
    _divide(digits, parameters.floor)  # what is left over are the summed errors
    below, values = parameters.radix**parameters.values, np.empty((parameters.values, digits.shape[1]), dtype=np.int64)
    for index in range(parameters.values):
        live = digits[: -(-below.bit_length() // DIGIT_BITS)]  # the rest is 0, or was too large to begin with
        values[index], step = 0, 1
        for radix in parameters.radices:
            values[index] += step * _divide(live, radix)
            step *= radix
        below //= parameters.radix
    if digits.any() or values.max(initial=0) > contributors * parameters.largest:
        raise OpeningFailed(
            "what was opened is not a sum of the silos' uploads: one of them encrypted under another key share than it "
            "sent, or sent a false ciphertext; begin another sum"
        )
    return values


def _divide(digits: Digits, divisor: int) -> Digits:
    """Divide integers, given by digits of 16 bits with the least first, in place; the remainders are returned."""
    if divisor.bit_length() > 63 - DIGIT_BITS:
        raise ValueError(f"{divisor} is too large to divide by in words of 64 bits")
    rest = np.zeros(digits.shape[1], dtype=np.int64)
    for digit in digits[::-1]:
        rest <<= DIGIT_BITS
        rest += digit
        np.floor_divide(rest, divisor, out=digit)
        rest -= digit * divisor
    return rest


def _digits_of_a_value(parameters: Parameters) -> tuple[int, int]:
    """Number of digits that one silo's value is cut into, and the bits of each."""
    width = parameters.largest.bit_length()
    count = -(-width // _WIDEST_DIGIT)
    return count, -(-width // count)


@lru_cache(maxsize=32)
def _weights(parameters: Parameters) -> Weights:
    """Weight of each digit of each value in a coefficient: first the lowest digits of all values."""
    count, bits = _digits_of_a_value(parameters)
    if not fits_residues(bits, count * parameters.values):
        raise ValueError(f"{parameters.values} values of {count} digits of {bits} bits are too many for exact products")
    places = [parameters.floor * parameters.radix**value for value in range(parameters.values)]
    return tuple(place << (bits * digit) for digit in range(count) for place in places)
