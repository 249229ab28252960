"""Samplers in integers and fractions alone: slow, and exact as long as the system's bits are uniform."""

import math
import secrets
from fractions import Fraction


def discrete_gaussian(variance: Fraction) -> int:
    """Canonne, Kamath and Steinke 2020, Algorithm 3."""
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        value = discrete_laplace(scale)
        if _exponential_coin((abs(value) - variance / scale) ** 2 / (2 * variance)):
            return value


def discrete_laplace(scale: int) -> int:
    """Chances in proportion to exp(-|k| / scale) (Algorithm 2)."""
    while True:
        rest = secrets.randbelow(scale)
        if not _exponential_coin(Fraction(rest, scale)):
            continue
        times = 0
        while _exponential_coin(Fraction(1)):
            times += 1
        value = rest + scale * times
        if secrets.randbelow(2):
            return value
        if value:  # zero has one sign only
            return -value


def skellam(variance: Fraction) -> int:
    """The difference of two Poisson variables, each a sum of Poisson variables of rates below one."""
    parts = math.floor(variance) + 1
    rate = variance / (2 * parts)
    return sum(_poisson(rate) - _poisson(rate) for _ in range(parts))


def _poisson(rate: Fraction) -> int:
    """Of a rate below one, by rejection.

    The first k whose coin of chance rate / (k + 1) fails is k with a chance of rate^k / k! (1 - rate / (k + 1)).
    """
    while True:
        count = 0
        while _coin(rate / (count + 1)):
            count += 1
        if _coin((1 - rate) / (1 - rate / (count + 1))):
            return count


def _exponential_coin(exponent: Fraction) -> bool:
    """True with a chance of exp(-exponent) (Algorithm 1)."""
    for _ in range(math.floor(exponent)):
        if not _small_exponential_coin(Fraction(1)):
            return False
    return _small_exponential_coin(exponent - math.floor(exponent))


def _small_exponential_coin(exponent: Fraction) -> bool:
    count = 1
    while _coin(exponent / count):
        count += 1
    return count % 2 == 1


def _coin(chance: Fraction) -> bool:
    return secrets.randbelow(chance.denominator) < chance.numerator
