"""How many silos recover what a silent one left, and who may therefore pool what they know."""

from siloseal.federation.errors import DomainError


def recovery_threshold(silos: int, asked: int | None) -> int:
    """As asked for, or two thirds and one. Above half, so that no two groups can answer differently."""
    threshold = 2 * silos // 3 + 1 if asked is None else asked
    if silos < 2:
        raise DomainError("a sum of one silo hides nothing; take two silos or more, or `kind: plain`")
    if not silos / 2 < threshold <= silos:
        raise DomainError(
            f"its threshold is {threshold} for {silos} silos; it must be above half of them and at most all of them"
        )
    return threshold


def may_pool(silos: int, threshold: int) -> int:
    """Number of silos that may pool what they know with an aggregator that lies, and learn the sum only.

    An aggregator that tells two groups different things needs t answers of each; c silos on its side answer both.
    Honest silos answer once, so it gets both only with n - c + 2 c >= 2 t.
    """
    return max(min(2 * threshold - silos - 1, silos - 2), 0)


def who_may_pool(silos: int, threshold: int) -> str:
    """The same for people."""
    return f"the aggregator and {may_pool(silos, threshold)} of the silos, lying or not"
