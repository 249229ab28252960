"""Shamir's secret sharing: any t of n shares give the secret, fewer tell nothing about it."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from siloseal.federation.errors import OpeningFailed, QuorumLost
from siloseal.federation.randomness import Randomness

SEED_FIELD = 2**521 - 1
"""A prime field that holds 64 bytes."""

KEY_FIELD = 2**255 - 19
"""A prime field that holds an X25519 key, and whose elements take 32 bytes."""


def split(secret: int, points: list[int], threshold: int, randomness: Randomness, *, prime: int) -> dict[int, int]:
    """Return the values, at these points, of a random polynomial of degree t - 1 that is the secret at 0."""
    coefficients = [secret, *(uniform(randomness, prime) for _ in range(threshold - 1))]
    return {point: evaluate(coefficients, point, prime=prime) for point in points}


def evaluate(coefficients: list[int], point: int, *, prime: int) -> int:
    """Evaluate the polynomial with these coefficients, lowest first, at a point other than the secret's own."""
    if point % prime == 0:
        raise OpeningFailed("a share at point 0 would be the secret itself; points begin at 1")
    value = 0
    for coefficient in reversed(coefficients):
        value = value * point + coefficient  # points are small: one reduction at the end is cheaper than one a step
    return value % prime


def join(shares: Mapping[int, int], threshold: int, *, prime: int) -> int:
    """Return the secret, by interpolation at 0 from the first t shares; `QuorumLost` if there are fewer."""
    if len(shares) < threshold:
        raise QuorumLost(f"{len(shares)} shares of a secret came together, {threshold} are needed")
    if 0 in shares:
        raise OpeningFailed("a share at point 0 would be the secret itself; points begin at 1")
    chosen = tuple(sorted(shares)[:threshold])
    return sum(shares[point] * weight for point, weight in zip(chosen, _weights(chosen, prime), strict=True)) % prime


def recover(shares: Mapping[int, int], threshold: int, is_right: Callable[[int], bool], *, prime: int) -> int | None:
    """Return the secret that `is_right` accepts, or None; one false share among more than t does no harm."""
    points = sorted(shares)
    for start in range(len(points)):
        chosen = (points[start:] + points[:start])[:threshold]
        if is_right(secret := join({point: shares[point] for point in chosen}, threshold, prime=prime)):
            return secret
    return None


@lru_cache(maxsize=256)
def _weights(points: tuple[int, ...], prime: int) -> tuple[int, ...]:
    """Weight of each point's value in the value at 0 (Lagrange). Silos that answer together are often the same."""
    weights = list[int]()
    for point in points:
        numerator = denominator = 1
        for other in points:
            if other != point:
                numerator = numerator * other % prime
                denominator = denominator * (other - point) % prime
        weights.append(numerator * pow(denominator, -1, prime) % prime)
    return tuple(weights)


def uniform(randomness: Randomness, prime: int) -> int:
    """Draw a number uniformly below the prime, by rejection."""
    bits = prime.bit_length()
    while True:
        drawn = int.from_bytes(randomness.bits(-(-bits // 8)), "little") & ((1 << bits) - 1)
        if drawn < prime:
            return drawn
