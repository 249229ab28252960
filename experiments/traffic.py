"""Bytes of a job's sums, by formula: for sizes and numbers of rounds that would take days to run.

All bytes that all silos send and receive. A round gives each silo the model, in single precision, and sums the trained
ones. Batched Paillier is counted by hand, because running it is what takes days; every other sum is run once, on zeros,
and counted: its bytes do not depend on what is in the vectors.
"""

import numpy as np

from siloseal.federation.sums.config import SecureSumConfig
from siloseal.federation.sums.fixed_point import largest_point
from siloseal.federation.sums.in_process import sum_in_process
from siloseal.federation.sums.one_key.batching import Batching
from siloseal.federation.sums.one_key.config import PaillierSumConfig
from siloseal.federation.sums.session import RealDomain

FLOAT_BYTES, INTEGER_BYTES = 4, 8
BOUND = 64.0
"""Bound of a weight; it does not change the bytes."""


def paillier_bytes(config: PaillierSumConfig, *, length: int, silos: int, sent: bool = True) -> int:
    """Bytes of one sum: all send ciphertexts and get the summed ones; if the sum is `sent`, one silo sends it, too.

    Sealed keys, signatures and framing are left out, a few hundred bytes a silo beside megabytes.
    """
    batching = Batching(length, largest_point(config.precision_bits), silos, plaintext_bits=config.key_bits - 1)
    ciphertext_bytes = 2 * config.key_bits // 8  # modulo n^2
    return 2 * silos * batching.plaintexts * ciphertext_bytes + (INTEGER_BYTES * length if sent else 0)


def bytes_of_a_sum(config: SecureSumConfig, *, length: int, silos: int) -> int:
    """Return the bytes of one sum, of all silos."""
    if isinstance(config, PaillierSumConfig):
        return paillier_bytes(config, length=length, silos=silos)
    result = sum_in_process(config.build(), [np.zeros(length)] * silos, domain=RealDomain(length, BOUND))
    return sum(result.sent.values()) + sum(result.received.values())


def bytes_of_a_model(*, length: int, silos: int) -> int:
    """Return the bytes of a model that is sent to everyone."""
    return silos * FLOAT_BYTES * length


def bytes_of_a_round(config: SecureSumConfig, *, length: int, silos: int, kept: bool = False) -> int:
    """Bytes of the model to everyone, and of the sum. If silos that decrypt the sum keep it, neither is sent."""
    if kept and isinstance(config, PaillierSumConfig):
        return paillier_bytes(config, length=length, silos=silos, sent=False)
    return bytes_of_a_model(length=length, silos=silos) + bytes_of_a_sum(config, length=length, silos=silos)
