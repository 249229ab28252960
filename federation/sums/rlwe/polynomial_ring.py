"""Arithmetic in the ring Z_q[X]/(X^N + 1), done by SEAL: number-theoretic transforms, products, division by a prime.

A polynomial is its residues modulo each prime of q: an array of shape (primes, degree). Polynomials that share an
operation are stacked in front: (polynomials, primes, degree). "Evaluated" means in NTT form, where products are
element-wise.

SEAL counts one more, small prime for key switching, which nothing here uses, in its check that degree and modulus give
128-bit security.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tenseal import sealapi

from siloseal.federation.errors import ConfigError
from siloseal.federation.sums.rlwe import seal_codec
from siloseal.federation.sums.rlwe.seal_codec import Residues

_SPECIAL_BITS = 18
_MOST = 8  # polynomials in one SEAL ciphertext; it holds 2 to 16


class Ring:
    """One degree, its primes, and SEAL's operations on it. Get it from `ring_of`, which keeps its tables."""

    def __init__(self, degree: int, prime_bits: tuple[int, ...], *, divides: bool) -> None:
        self._moduli = sealapi.CoeffModulus.Create(degree, [*prime_bits, _SPECIAL_BITS])
        parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(degree)
        parameters.set_coeff_modulus(self._moduli)
        self._context = sealapi.SEALContext(parameters, divides, sealapi.SEC_LEVEL_TYPE.TC128)
        if not self._context.parameters_set():
            raise ConfigError(
                f"SEAL refuses degree {degree} with primes of {prime_bits} bits at 128-bit security "
                f"({self._context.parameters_error_message()}); install tenseal 0.3.18"
            )
        self._evaluator = sealapi.Evaluator(self._context)
        self.degree, self.prime_bits = degree, prime_bits
        self.primes: Residues = np.array([prime.value() for prime in self._moduli[: len(prime_bits)]], dtype=np.uint64)
        self.divisor = int(self.primes[-1])
        """The prime that `divide` divides by."""
        whole = self._context.first_context_data()
        self._whole_id = _bytes(whole.parms_id())
        self._divided_id = _bytes(whole.next_context_data().parms_id()) if divides else b""

    @property
    def modulus_bits(self) -> int:
        """Bits of the modulus that SEAL's security check counts, the unused prime included."""
        return sum(modulus.bit_count() for modulus in self._moduli)

    def small(self, coefficients: NDArray[np.int64]) -> Residues:
        """Polynomials with small signed coefficients, (polynomials, degree), as residues."""
        signed = coefficients[:, None, :]
        return np.where(signed < 0, signed + self.primes.view(np.int64)[:, None], signed).astype(np.uint64)

    def evaluate(self, polynomials: Residues) -> Residues:
        """Evaluate polynomials by the forward transform."""
        return np.concatenate([
            self._read(self._evaluated(part), len(self.primes))[:count] for part, count in _portions(polynomials)
        ])  # fmt: skip

    def multiply(self, factors: Residues, by: Residues) -> Residues:
        """Return the coefficients of `factors` times `by`, both evaluated."""
        return self._multiply_and_interpolate(self._whole_id, factors, by)

    def multiply_add(self, factors: Residues, by: Residues, plus: Residues | None, *, divide: bool = False) -> Residues:
        """Return `factors` times `by`, both evaluated, plus the polynomials `plus`, if any, which are not; evaluated.

        With `divide`, the result is divided by the last prime, rounded, and has that prime no more.
        """
        if plus is not None and len(plus) != len(factors):
            raise ValueError(f"{len(factors)} products cannot be added to {len(plus)} polynomials")
        multiplier = seal_codec.plaintext(self._context, self._whole_id, by)
        results = list[Residues]()
        addends = repeat(None) if plus is None else (part for part, _ in _portions(plus))
        for (factor, count), addend in zip(_portions(factors), addends, strict=False):
            result = self._load(self._whole_id, factor, ntt=True)
            self._evaluator.multiply_plain_inplace(result, multiplier)
            if addend is not None:
                self._evaluator.add_inplace(result, self._evaluated(addend))
            if divide:
                self._evaluator.rescale_to_next_inplace(result)
            results.append(self._read(result, len(self.primes) - divide)[:count])
        return np.concatenate(results)

    def interpolate(self, polynomials: Residues, scale: Residues, *, divided: bool = False) -> Residues:
        """Return the coefficients of evaluated polynomials, each residue times its prime's entry of `scale`."""
        constant = np.repeat(scale[:, None], self.degree, axis=1)  # a constant is the same at every evaluation point
        return self._multiply_and_interpolate(self._divided_id if divided else self._whole_id, polynomials, constant)

    def add(self, total: Residues, polynomials: Residues) -> None:
        """Add to `total`, in place; both divided or both not. Rows, second to last, are primes."""
        primes = self.primes[: total.shape[-2], None]
        total += polynomials
        np.minimum(total, total - primes, out=total)  # below the prime, the difference wraps around and is larger

    def _multiply_and_interpolate(self, parms_id: bytes, factors: Residues, by: Residues) -> Residues:
        multiplier = seal_codec.plaintext(self._context, parms_id, by)
        results = list[Residues]()
        for part, count in _portions(factors):
            result = self._load(parms_id, part, ntt=True)
            self._evaluator.multiply_plain_inplace(result, multiplier)
            self._evaluator.transform_from_ntt_inplace(result)
            results.append(self._read(result, len(by))[:count])
        return np.concatenate(results)

    def _evaluated(self, part: Residues) -> Any:
        loaded = self._load(self._whole_id, part, ntt=False)
        self._evaluator.transform_to_ntt_inplace(loaded)
        return loaded

    def _load(self, parms_id: bytes, polynomials: Residues, *, ntt: bool) -> Any:
        return seal_codec.ciphertext(self._context, parms_id, polynomials, ntt=ntt)

    def _read(self, loaded: Any, primes: int) -> Residues:
        return seal_codec.polynomials_of(loaded, primes=primes, degree=self.degree)


@lru_cache(maxsize=32)
def ring_of(degree: int, prime_bits: tuple[int, ...], *, divides: bool = False) -> Ring:
    """Return the ring of this degree with primes of these sizes; its tables are made once in a process.

    With `divides`, also the tables for polynomials that are divided by the last prime, which take longer.
    """
    return Ring(degree, prime_bits, divides=divides)


def _portions(polynomials: Residues) -> Iterator[tuple[Residues, int]]:
    """Stacks that fit a SEAL ciphertext, which needs two polynomials at least: a lone one comes twice."""
    for start in range(0, len(polynomials), _MOST):
        part = polynomials[start : start + _MOST]
        yield (part if len(part) > 1 else np.repeat(part, 2, axis=0)), len(part)


def _bytes(parms_id: list[int]) -> bytes:
    return np.array(parms_id, dtype="<u8").tobytes()
