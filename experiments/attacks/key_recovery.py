"""The secret key of stock CKKS out of one sum (Li and Micciancio 2021), from what its aggregator holds anyway.

A summed ciphertext (c0, c1) decrypts to p = c0 + c1 s. That is the sum and its noise, and whoever is told all of it has
linear equations in the key s. TenSEAL tells the real part of every entry: the values of p + p' at roots of unity, with
p'(X) = p(1 / X). Coefficients are integers, so that rounding takes away what double precision added on the way. Two
ciphertexts under one key, of 4096 entries each, give two equations in two unknowns at every pair of conjugate points:

    c1 s + c1' s' = (p + p') - (c0 + c0').

Noise that floods an opening is unknown, and takes the place of p: then nothing is left to solve.
"""

import numpy as np
import tenseal as ts
from numpy.typing import NDArray
from tenseal import sealapi

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.sums.one_key.stock_ckks import StockCipher, public_context
from siloseal.federation.sums.one_key.stock_parameters import DEGREE, PRIME_BITS, SCALE_BITS, SLOTS
from siloseal.federation.sums.rlwe.seal_codec import ciphertext, polynomials_of
from siloseal.federation.sums.session import Vector

Residues = NDArray[np.object_]
"""Integers of Python: a product of two has 120 bits. An evaluated polynomial reads backwards at conjugate points."""

EQUATIONS = 2
"""Number of ciphertexts that are needed, each of as many entries as it has slots."""

_PRIMES = len(PRIME_BITS) - 1
_POINTS = np.array([pow(3, slot, 2 * DEGREE) for slot in range(SLOTS)])  # the roots of unity that SEAL's slots stand at
_NEAR = 0.25  # from an integer


def recover_key(cipher: StockCipher, summed: bytes, decrypted: Vector) -> Residues:
    """Return the key, evaluated, from a sum's ciphertext and its decryption; `OpeningFailed` if that is none."""
    modulus, sides = _modulus(), list[tuple[Residues, Residues]]()
    for number, (c0, c1) in enumerate(_polynomials(cipher, summed)[:EQUATIONS]):
        part = decrypted[number * SLOTS : (number + 1) * SLOTS]
        sides.append((c1, _transformed(_twice_real(part) % modulus, forward=True) - c0 - c0[::-1]))
    (first, one), (second, other) = sides
    determinant = (first * second[::-1] - first[::-1] * second) % modulus
    inverse = np.array([pow(each, -1, modulus) for each in determinant.tolist()], dtype=object)
    key: Residues = (one * second[::-1] - first[::-1] * other) * inverse % modulus
    _require_ternary(_coefficients(key))
    return key


def decrypt(cipher: StockCipher, upload: bytes, key: Residues) -> Vector:
    """Return the vector that a silo encrypted."""
    opened = [_coefficients((c0 + c1 * key) % _modulus()) for c0, c1 in _polynomials(cipher, upload)]
    return np.concatenate([_entries(part) for part in opened])[: cipher.domain.length]


def _twice_real(decrypted: Vector) -> Residues:
    """Return the coefficients of p + p' for the p whose slots have these real parts."""
    spectrum = np.zeros(2 * DEGREE)
    spectrum[_POINTS] = spectrum[-_POINTS] = decrypted
    found = np.fft.fft(spectrum)[:DEGREE].real * (2.0 ** (SCALE_BITS + 1) / DEGREE)
    if np.abs(found - np.rint(found)).max() > _NEAR:
        raise OpeningFailed("what was told is no decryption to the last bit: it was rounded, or noise was added to it")
    return np.rint(found).astype(np.int64).astype(object)


def _entries(coefficients: NDArray[np.int64]) -> Vector:
    """Return the real parts of the slots."""
    values = np.fft.fft(coefficients.astype(np.float64), 2 * DEGREE).real[_POINTS]
    return np.asarray(values / 2.0**SCALE_BITS, dtype=np.float64)


def _require_ternary(coefficients: NDArray[np.int64]) -> None:
    if (largest := int(np.abs(coefficients).max())) > 1:
        raise OpeningFailed(f"what solves the equations has coefficients up to {largest:.1e}, but a key's are -1, 0, 1")


def _coefficients(evaluated: Residues) -> NDArray[np.int64]:
    """Return the coefficients, centred around zero."""
    modulus = _modulus()
    residues = _transformed(evaluated, forward=False)
    return np.where(residues > modulus // 2, residues - modulus, residues).astype(np.int64)


def _polynomials(cipher: StockCipher, data: bytes) -> list[tuple[Residues, Residues]]:
    """Return c0 and c1 of every stretch, evaluated, modulo the first prime, which is large enough for any total."""
    parts: list[ts.CKKSVector] = cipher.read(public_context(), data)
    read = [polynomials_of(part.ciphertext()[0], primes=_PRIMES, degree=DEGREE)[:, 0] for part in parts]
    return [(c0.astype(object), c1.astype(object)) for c0, c1 in read]


def _transformed(polynomial: Residues, *, forward: bool) -> Residues:
    """Transform polynomials by SEAL, which takes two of them at least."""
    context = public_context().seal_context().data
    parms_id = np.array(context.first_parms_id(), dtype="<u8").tobytes()
    stacked = np.zeros((2, _PRIMES, DEGREE), dtype=np.uint64)
    stacked[:, 0] = polynomial.astype(np.uint64)
    loaded, evaluator = ciphertext(context, parms_id, stacked, ntt=not forward), sealapi.Evaluator(context)
    if forward:
        evaluator.transform_to_ntt_inplace(loaded)
    else:
        evaluator.transform_from_ntt_inplace(loaded)
    transformed: Residues = polynomials_of(loaded, primes=_PRIMES, degree=DEGREE)[0, 0].astype(object)
    return transformed


def _modulus() -> int:
    return int(public_context().seal_context().data.first_context_data().parms().coeff_modulus()[0].value())
