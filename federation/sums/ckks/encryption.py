"""Encryption of a vector under one silo's key share, and decryption of a sum of ciphertexts.

Of silo i and group g, c = a_g s_i + e + m, where a_g is public and follows from the session. (c, -a_g) is a CKKS
ciphertext under s_i; ciphertexts added up are one under the sum of the key shares.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed, ShareReused
from siloseal.federation.randomness import Randomness
from siloseal.federation.secret import Secret
from siloseal.federation.sums.ckks.packing import pack, unpack
from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.ckks.sampling import draw_short
from siloseal.federation.sums.ckks.wire import to_bytes
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.sums.rlwe.uniform import expand_uniform
from siloseal.federation.sums.rlwe.wide import crt_scale
from siloseal.federation.sums.session import Session

_BATCH = 8  # polynomials that are worked on together


class KeyShare(Secret):
    """One silo's additive share of the key of the sum: a short polynomial. It encrypts one contribution."""

    __slots__ = ("_entries",)

    def __init__(self, entries: NDArray[np.int64]) -> None:
        self._entries: NDArray[np.int64] | None = entries

    @classmethod
    def draw(cls, parameters: Parameters, randomness: Randomness) -> "KeyShare":
        """Draw a fresh share."""
        return cls(draw_short(randomness, parameters.degree))

    def reduced(self, bits: int) -> NDArray[np.int64]:
        """Return the entries modulo 2^bits, to be masked and added up."""
        entries: NDArray[np.int64] = self._unspent() % 2**bits
        return entries

    def encrypt(
        self, session: Session, parameters: Parameters, values: NDArray[np.integer], randomness: Randomness
    ) -> bytes:
        """Encrypt these values. The share is spent before the ciphertext exists."""
        entries, self._entries = self._unspent(), None
        return _encrypt(session, parameters, entries, values, randomness)

    def _unspent(self) -> NDArray[np.int64]:
        if self._entries is None:
            raise ShareReused("this key share has encrypted one contribution already; a second one would leak both")
        return self._entries


def _encrypt(
    session: Session,
    parameters: Parameters,
    key: NDArray[np.int64],
    values: NDArray[np.integer],
    randomness: Randomness,
) -> bytes:
    ring = parameters.ring
    placed = np.zeros((parameters.values, parameters.coefficients), dtype=values.dtype)
    placed.reshape(-1)[: values.size] = values
    evaluated = ring.evaluate(ring.small(key[None]))[0]
    coefficients = np.empty((len(ring.primes), parameters.coefficients), dtype=np.uint64)
    for groups, places in _batches(parameters):
        products = ring.multiply(common_polynomials(session, parameters, groups), evaluated)
        for product, columns in zip(products, places, strict=True):
            part = coefficients[:, columns]
            part[:] = pack(parameters, placed[:, columns])
            ring.add(part, ring.small(draw_short(randomness, part.shape[1])[None])[0])
            ring.add(part, product[:, : part.shape[1]])
    return to_bytes(parameters, coefficients)


def open_sum(
    session: Session, parameters: Parameters, total: Residues, key: NDArray[np.int64], contributors: int
) -> NDArray[np.int64]:
    """Decrypt the sum, from its coefficients (primes, coefficients) and the sum of its contributors' keys."""
    ring, scale = parameters.ring, crt_scale(parameters.ring.primes)
    negated = ring.evaluate(ring.small(-key[None]))[0]
    values = np.empty((parameters.values, parameters.coefficients), dtype=np.int64)
    for groups, places in _batches(parameters):
        whole = np.zeros((len(groups), len(ring.primes), ring.degree), dtype=np.uint64)
        for polynomial, columns in zip(whole, places, strict=True):
            polynomial[:, : columns.stop - columns.start] = total[:, columns]
        opened = ring.multiply_add(common_polynomials(session, parameters, groups), negated, whole)
        for polynomial, columns in zip(ring.interpolate(opened, scale), places, strict=True):
            values[:, columns] = unpack(parameters, polynomial[:, : columns.stop - columns.start], contributors)
    decoded = values.reshape(-1)
    if decoded[parameters.length :].any():
        raise OpeningFailed("a sum came out with values where nobody had put any: a silo encrypted falsely")
    return decoded[: parameters.length]


def common_polynomials(session: Session, parameters: Parameters, groups: range) -> Residues:
    """Return a_g of these groups, evaluated. They follow from the session's digest: public, and nobody's choice."""
    seeds = [session.bind("common polynomial", group.to_bytes(8, "little")) for group in groups]
    return np.stack([expand_uniform(parameters.ring, seed) for seed in seeds])


def _batches(parameters: Parameters) -> Iterator[tuple[range, list[slice]]]:
    """Yield groups that are worked on together, with the coefficients of each."""
    for first in range(0, parameters.groups, _BATCH):
        groups = range(first, min(first + _BATCH, parameters.groups))
        starts = [group * parameters.degree for group in groups]
        yield groups, [slice(start, min(start + parameters.degree, parameters.coefficients)) for start in starts]
