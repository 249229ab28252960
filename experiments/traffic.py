"""What a job's sums cost in bytes, by formula: for sizes and numbers of rounds that would take days to run.

All bytes that all silos send and receive. A round gives each silo the model, in single precision, and sums the trained
ones. Batched Paillier is counted by hand, because running it is what takes days; every other sum is run once, on zeros,
and counted: its bytes do not depend on what is in the vectors.
"""

from federation.config.sums import SecureSumConfig
from federation.fixed_point import FixedPoint
from federation.one_key.batching import Batching
from federation.one_key.one_key_sum import PaillierSumConfig
from federation.session import RealDomain
from siloseal.plan import sum_bytes

FLOAT_BYTES, INTEGER_BYTES = 4, 8
BOUND = 64.0
"""Of a weight; it does not change the bytes."""


def paillier_bytes(*, length: int, silos: int, key_bits: int, precision_bits: int) -> int:
    """Of one sum: everyone sends its ciphertexts and gets the summed ones; one silo tells what they hold.

    Letters, signatures and framing are left out, a few hundred bytes a silo beside megabytes.
    """
    carried = FixedPoint(precision_bits).domain(RealDomain(length, BOUND), silos)
    batching = Batching(length, carried.modulus - 1, silos, plaintext_bits=key_bits - 1)
    ciphertext_bytes = 2 * key_bits // 8  # modulo n^2
    return 2 * silos * batching.plaintexts * ciphertext_bytes + INTEGER_BYTES * length


def bytes_of_a_sum(config: SecureSumConfig, *, length: int, silos: int) -> int:
    """Of all silos."""
    if isinstance(config, PaillierSumConfig):
        return paillier_bytes(
            length=length, silos=silos, key_bits=config.key_bits, precision_bits=config.precision_bits
        )
    sent, received = sum_bytes(config.build(), RealDomain(length, BOUND), silos)
    return silos * (sent + received)


def bytes_of_a_round(config: SecureSumConfig, *, length: int, silos: int) -> int:
    """The model to everyone, and the sum."""
    return silos * FLOAT_BYTES * length + bytes_of_a_sum(config, length=length, silos=silos)
