"""Traffic of a silo under SecAgg, by the formula of its paper (Bonawitz et al. 2017): keys, shares, list, vector.

It counts no signatures, seals or framing, which a real run sends as well, and which grow with the number of silos and
not with the vector.
"""

KEY_BITS = SHARE_BITS = 256


def traffic_bits(*, silos: int, entries: int, entry_bits: int) -> int:
    """Bits both ways, for one silo of n, with this many entries of this many bits, whose sum must not wrap around."""
    keys = 2 * silos * KEY_BITS  # it sends two public keys, and receives everyone else's
    shares = (5 * silos - 4) * SHARE_BITS  # it sends and receives a pair with each other, and reveals one of each
    listed = silos  # one bit a silo: who survived
    modulus_bits = int(silos * (2**entry_bits - 1)).bit_length()
    return keys + shares + listed + entries * modulus_bits


def expansion(*, silos: int, entries: int, entry_bits: int) -> float:
    """Ratio of the traffic to that of sending the entries in clear."""
    return traffic_bits(silos=silos, entries=entries, entry_bits=entry_bits) / (entries * entry_bits)
