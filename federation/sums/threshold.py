"""Threshold of silos that recover what a silent one left, and the number that may therefore collude."""

from collections.abc import Callable

from siloseal.federation.errors import DomainError
from siloseal.federation.sums.exposure import Exposure


def recovery_threshold(silos: int, asked: int | None) -> int:
    """Return the threshold: as asked for, or two thirds and one. Above half, no two groups can answer differently."""
    require_two_silos(silos)
    threshold = 2 * silos // 3 + 1 if asked is None else asked
    if not silos / 2 < threshold <= silos:
        raise DomainError(
            f"its threshold is {threshold} for {silos} silos; it must be above half of them and at most all of them"
        )
    return threshold


def require_two_silos(silos: int) -> None:
    """Raise `DomainError` for a sum of one silo, which would be that silo's vector."""
    if silos < 2:
        raise DomainError("a sum of one silo hides nothing; take two silos or more, or `kind: plain`")


def may_pool(silos: int, threshold: int) -> int:
    """Number of silos that may pool what they know with a lying aggregator, and learn the sum of the others only.

    An aggregator that tells two groups different things needs t answers of each; c silos on its side answer both.
    Honest silos answer once, so it gets both only with n - c + 2 c >= 2 t.
    """
    return max(min(2 * threshold - silos - 1, silos - 2), 0)


def threshold_exposure(threshold: Callable[[int], int]) -> Exposure:
    """Return the exposure of a sum whose silos reveal once t of them have signed one list."""
    return Exposure(
        aggregator_learns="the sum",
        silo_learns="nothing",
        colluders="2t - n - 1, and n - 2 at most, lying or not",
        if_more_collude="an aggregator that lies has two lists of silos opened, and learns single vectors",
        if_a_silo_is_silent="up to n - t silos may fall silent at any step, as far as the job's silos.fewest lets "
        "them: before its upload a silo is not in the sum, after it, it is",
        hides_contributions=True,
        may_collude=lambda silos: may_pool(silos, threshold(silos)),
    )
