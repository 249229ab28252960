"""What a job's sums cost in bytes, by formula: for sizes and numbers of rounds that would take days to run.

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
"""Of a weight; it does not change the bytes."""


def paillier_bytes(config: PaillierSumConfig, *, length: int, silos: int, told: bool = True) -> int:
    """Of one sum: everyone sends its ciphertexts and gets the summed ones; where it is `told`, one silo tells it, too.

    Sealed keys, signatures and framing are left out, a few hundred bytes a silo beside megabytes.
    """
    batching = Batching(length, largest_point(config.precision_bits), silos, plaintext_bits=config.key_bits - 1)
    ciphertext_bytes = 2 * config.key_bits // 8  # modulo n^2
    return 2 * silos * batching.plaintexts * ciphertext_bytes + (INTEGER_BYTES * length if told else 0)


def bytes_of_a_sum(config: SecureSumConfig, *, length: int, silos: int) -> int:
    """Of all silos."""
    if isinstance(config, PaillierSumConfig):
        return paillier_bytes(config, length=length, silos=silos)
    result = sum_in_process(config.build(), [np.zeros(length)] * silos, domain=RealDomain(length, BOUND))
    return sum(result.sent.values()) + sum(result.received.values())


def bytes_of_a_model(*, length: int, silos: int) -> int:
    """Sent to everyone."""
    return silos * FLOAT_BYTES * length


def bytes_of_a_round(config: SecureSumConfig, *, length: int, silos: int, kept: bool = False) -> int:
    """The model to everyone, and the sum. Where silos that decrypt the sum keep it, neither model nor sum is told."""
    if kept and isinstance(config, PaillierSumConfig):
        return paillier_bytes(config, length=length, silos=silos, told=False)
    return bytes_of_a_model(length=length, silos=silos) + bytes_of_a_sum(config, length=length, silos=silos)
