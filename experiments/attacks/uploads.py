"""One silo's upload in a secure sum, read as if it were the numbers themselves.

Each upload is decoded as its scheme would decode it if it did not hide: masked words as points of the grid, a sealed
total as if there were no seal, a ciphertext as if it were the message. So the vector comes out where masks,
seal or key are missing, which `tests/experiments/attacks/test_uploads.py` sees to, and noise where they are there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.sums.additive.config import AdditiveSumConfig
from siloseal.federation.sums.additive.sides import Round as AdditiveRound
from siloseal.federation.sums.ckks.ckks_sum import CkksSum
from siloseal.federation.sums.ckks.config import CkksSumConfig
from siloseal.federation.sums.ckks.parameters import Parameters
from siloseal.federation.sums.ckks.wire import rows
from siloseal.federation.sums.fixed_point import FixedPoint, from_points
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.masked.words import ring_for
from siloseal.federation.sums.plain.config import PlainSumConfig
from siloseal.federation.sums.ring import sides as ring_sides
from siloseal.federation.sums.ring.config import RingSumConfig
from siloseal.federation.sums.rlwe.wide import crt_scale
from siloseal.federation.sums.secagg.config import SecAggConfig, SecAggPlusConfig
from siloseal.federation.sums.session import RealDomain
from siloseal.federation.transport.wire import ckks_pb2, sums_pb2
from siloseal.federation.transport.wire.codec import decode, from_array

ReadableSum = PlainSumConfig | CkksSumConfig | SecAggConfig | SecAggPlusConfig | AdditiveSumConfig | RingSumConfig
"""Sums whose uploads are read here. The ciphers of the others pack in ways of their own, which would not come out."""

Reals = NDArray[np.float64]

SILOS = 4

SECAGG_UPLOAD = 2
"""The round in which SecAgg's masked vectors go up, and ciphertexts: the third."""

NONCE_BYTES, TAG_BYTES = 12, 16
"""Number of bytes before and behind a sealed message (ChaCha20-Poly1305)."""


def read_upload(config: ReadableSum, vector: Reals, *, bound: float) -> Reals:
    """Return the numbers that the first silo's upload decodes to in a sum of four; the others contribute zeros."""
    domain, said = RealDomain(len(vector), bound), list[bytes]()

    def listen(number: int, silo: str, reply: bytes) -> bytes:
        if silo == "silo0":
            said.append(decode(sums_pb2.SumMessage, reply).body)
        return reply

    vectors = [vector, *[np.zeros_like(vector)] * (SILOS - 1)]
    sum_in_process(config.build(), vectors, domain=domain, from_silo=listen)
    if isinstance(config, PlainSumConfig):
        return from_array(decode(sums_pb2.Array, said[0]), dtype="<f4", length=len(vector)).astype(np.float64)
    numbers, _ = from_points(domain, _points(config, domain, SILOS, said), 1, config.precision_bits)
    return np.asarray(numbers - numbers.mean())  # what is hidden lies beyond the grid: its offset would blacken images


def _points(
    config: CkksSumConfig | SecAggConfig | SecAggPlusConfig | AdditiveSumConfig | RingSumConfig,
    domain: RealDomain,
    silos: int,
    said: Sequence[bytes],
) -> NDArray[np.int64]:
    """Points of the grid, as far as anything of them is left."""
    if isinstance(config, CkksSumConfig):
        upload = decode(ckks_pb2.CkksUpload, said[SECAGG_UPLOAD])
        return _unpacked(CkksSum(precision_bits=config.precision_bits).parameters(domain, silos), upload.ciphertext)
    ring = ring_for(FixedPoint(config.precision_bits).domain(domain, silos), silos)
    match config:
        case RingSumConfig():
            packed = said[ring_sides.FIRST][NONCE_BYTES:-TAG_BYTES]
        case AdditiveSumConfig():
            packed = said[AdditiveRound.ADD]
        case SecAggConfig() | SecAggPlusConfig():
            packed = said[SECAGG_UPLOAD]
    return ring.values(ring.unpack(packed))


def _unpacked(parameters: Parameters, ciphertext: bytes) -> NDArray[np.int64]:
    """Unpack as `federation.sums.ckks.packing.unpack` does, in Python integers and for any coefficient."""
    primes, scales = parameters.ring.primes.astype(object), crt_scale(parameters.ring.primes).astype(object)
    product = int(np.prod(primes))
    parts = [
        row.astype(object) * scale % prime * (product // prime)
        for row, scale, prime in zip(rows(parameters, ciphertext), scales, primes, strict=True)
    ]
    coefficients = (sum(parts) + parameters.floor // 2) % product // parameters.floor  # what noise there is rounds away
    values = [coefficients // parameters.radix**place % parameters.radix for place in range(parameters.values)]
    return np.concatenate(values)[: parameters.length].astype(np.int64)
