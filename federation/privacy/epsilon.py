"""How an epsilon is written for people, and above which it protects nobody. It imports no accountant."""

import math

MEANINGLESS_EPSILON = 20.0
"""Epsilon above which nobody is protected: e^epsilon exceeds 4e8, and reports say "no meaningful guarantee"."""


def weakness(epsilon: float) -> str:
    """The words behind "differential privacy" where epsilon is so large that nobody is protected; else none."""
    return " (no meaningful guarantee: epsilon is too large)" if epsilon > MEANINGLESS_EPSILON else ""


def epsilon_text(epsilon: float) -> str:
    """Epsilon for people: two decimals, two digits where it is small, always rounded up, so that none is too good."""
    places = 2 if epsilon >= 0.1 or epsilon <= 0 else 1 - math.floor(math.log10(epsilon))
    return f"{math.ceil(epsilon * 10**places - 1e-9) / 10**places:.{places}f}"
