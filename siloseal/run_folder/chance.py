"""Whether one accuracy is lower than another by more than chance: Fisher's exact test, at any number of records.

Where `records` and `of` records are named rightly with one and the same probability, and `right` of all of them are,
how many of the first set are right is hypergeometric: that needs no normal approximation, which fails for few records
and for accuracies near 1. Whoever compares several silos multiplies by their number (Bonferroni): by the union bound,
silos that are served alike are then told apart in at most `FALSE_ALARMS` of all runs, however many there are. That is
exact for silos with held-out records of their own. An accuracy over a mix of classes is no count of records; it varies
no more than one of `mix_records` records, so that the test is conservative as far as a variance tells.
"""

import math
from collections.abc import Mapping

FALSE_ALARMS = 0.05
"""Share of runs, at most, in which a silo is named although all are served alike."""
_ROUNDING = 1e-6
"""Distance from a whole number that is the error of a float, not a part of a record."""
_NEGLIGIBLE = 1e-12


def chance_of_lower(share: float, records: int, *, than: float, of: int) -> float:
    """The chance that a share of `records` falls so far below one of `of` records, where both are served alike.

    The exact test presumes that the two sets are independent. Where they share records on which the two are right or
    wrong together, the difference varies less, and the chance is an upper bound. Parts of a record, which a mix of
    classes may have, are rounded towards no difference.

    >>> round(chance_of_lower(0.6, 20, than=0.9, of=20), 3)
    0.032
    """
    low = min(records, math.ceil(share * records - _ROUNDING))
    high = min(of, math.floor(than * of + _ROUNDING))
    if low * of >= high * records:
        return 1.0
    return min(1.0, _lower_tail(low, records, right=low + high, of=of))


def chances_of_worst(shares: Mapping[str, float], records: Mapping[str, int], *, shared: bool) -> dict[str, float]:
    """For each silo, the chance that any silo falls so far below the others together, where all are served alike.

    Each silo's share is compared with the others' at one go. Others with records of their own count with the sum of
    them. Where silos are measured on the same records (`shared`), the others count with the mean instead: a mean of
    shares with weights n_j / sum(n) and deviations of at most s / sqrt(n_j) has, however they depend on one another, a
    variance of at most (sum of n_j / sum(n) * s / sqrt(n_j))^2 <= sum of n_j / sum(n) * s^2 / n_j = s^2 / mean(n).
    """
    counted = {name: records[name] for name in shares if records.get(name)}
    silos, total = len(counted), sum(counted.values())
    right = sum(shares[name] * own for name, own in counted.items())
    found = dict[str, float]()
    for name, own in counted.items():
        if others := total - own:
            than, of = (right - shares[name] * own) / others, others // (silos - 1) if shared else others
            found[name] = min(1.0, silos * chance_of_lower(shares[name], own, than=than, of=of))
    return found


def _lower_tail(low: int, records: int, *, right: int, of: int) -> float:
    """P(X <= low) for the number X of right ones among `records`, of `right` right ones among `records + of`.

    `low` lies below the mean of X, so that the terms fall from there on, down to 0 at the least X possible.
    """
    log_first = _log_choose(records, low) + _log_choose(of, right - low) - _log_choose(records + of, right)
    term = total = math.exp(log_first)
    for count in range(low, 0, -1):
        term *= count * (of - right + count) / ((records - count + 1) * (right - count + 1))
        total += term
        if term <= _NEGLIGIBLE * total:
            break
    return total


def _log_choose(whole: int, part: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)
