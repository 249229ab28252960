"""How epsilon and delta are written for people, and which epsilon protects nobody. It imports no accountant."""

import math

MEANINGLESS_EPSILON = 20.0
"""Epsilon above which nobody is protected: e^epsilon exceeds 4e8, and reports say "no meaningful guarantee"."""

SMALLEST_SHOWN = 1e-12
"""Smallest epsilon that is shown. Smaller ones are rounded up to it."""
ALWAYS_WHOLE = 2.0**52
"""From here on, every number of double precision is whole."""


def protects(epsilon: float, *, limit: float = MEANINGLESS_EPSILON) -> bool:
    """Whether epsilon is a guarantee at all: at most the limit."""
    return epsilon <= limit


def weakness(epsilon: float) -> str:
    """The words behind "differential privacy" where epsilon is so large that nobody is protected; else none."""
    return "" if protects(epsilon) else " (no meaningful guarantee: epsilon is too large)"


def epsilon_text(epsilon: float) -> str:
    """Epsilon for people: two decimals, two digits where it is small, always rounded up, so that none is too good.

    NaN and infinity are written as such: a value that somebody else states must not end whoever shows it.
    """
    if not abs(epsilon) < ALWAYS_WHOLE:
        return f"{epsilon:.2f}"
    if epsilon > 0:
        epsilon = max(epsilon, SMALLEST_SHOWN)
    places = 2 if epsilon >= 0.1 or epsilon <= 0 else 1 - math.floor(math.log10(epsilon))
    return f"{math.ceil(epsilon * 10**places - 1e-9) / 10**places:.{places}f}"


def delta_text(delta: float) -> str:
    """Delta for people, as the field writes it: 1e-5, and 0.01 from a thousandth on."""
    if not 0 < delta < 1e-3:
        return f"{delta:g}"
    digits, power = f"{delta:.5e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
