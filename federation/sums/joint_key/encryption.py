"""Encryption of a vector under the joint key, and decoding of opened sums.

One ciphertext carries several messages: the public key is several polynomials over one common a, and all messages of
a group share the random u, and so one c1 (the packing of Peikert, Vaikuntanathan and Waters 2008). It rests on ring-LWE
with as many more samples.
"""

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import OpeningFailed
from siloseal.federation.randomness import Randomness
from siloseal.federation.sums.joint_key.moduli import ring_of
from siloseal.federation.sums.joint_key.packing import crt_scale, pack, unpack
from siloseal.federation.sums.joint_key.parameters import Parameters
from siloseal.federation.sums.joint_key.sampling import draw_errors, draw_ternary
from siloseal.federation.sums.joint_key.wire import to_bytes
from siloseal.federation.sums.rlwe.seal_codec import Residues
from siloseal.federation.transport.wire import joint_key_pb2 as pb

_BATCH = 8  # messages that are decoded together


def encrypt(
    parameters: Parameters, joint_key: Residues, common: Residues, values: NDArray[np.int64], randomness: Randomness
) -> pb.CiphertextUpload:
    """Return c1 of every group, and c0 of every message, divided. One group after the other is in memory."""
    ring = ring_of(parameters.degree)
    one_time = ring.evaluate(ring.small(draw_ternary(randomness, (parameters.groups, ring.degree))))
    errors = ring.small(draw_errors(randomness, (parameters.groups, ring.degree)))
    c1 = ring.multiply_add(one_time, common, errors)
    capacity = ring.degree * parameters.values
    messages = [values[start : start + capacity] for start in range(0, parameters.length, capacity)]
    c0 = list[bytes]()
    for group, secret in enumerate(one_time):
        packed = [pack(parameters, part) for part in messages[group * parameters.keys : (group + 1) * parameters.keys]]
        noised = np.stack(packed)
        ring.add(noised, ring.small(draw_errors(randomness, (len(packed), ring.degree))))
        c0.append(to_bytes(ring.multiply_add(joint_key[: len(packed)], secret, noised, divide=True)))
    return pb.CiphertextUpload(c0=b"".join(c0), c1=to_bytes(c1))


def decode_sum(parameters: Parameters, opened: Residues, largest: int) -> NDArray[np.int64]:
    """Return the values of the sum, from c0 plus everyone's partial decryptions."""
    ring, scale = ring_of(parameters.degree), crt_scale(parameters.degree)
    values = [
        unpack(parameters, message, largest)
        for start in range(0, len(opened), _BATCH)
        for message in ring.interpolate(opened[start : start + _BATCH], scale, divided=True)
    ]
    decoded = np.concatenate(values)
    if decoded[parameters.length :].any():
        raise OpeningFailed("a sum came out with values where nobody had put any: a silo opened or encrypted falsely")
    return decoded[: parameters.length]
