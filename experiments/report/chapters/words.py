"""Words that chapters share: rankings, axis labels, units of bytes."""

from collections.abc import Mapping, Sequence

from siloseal.experiments.comparison.rows import Label
from siloseal.experiments.figures import plain
from siloseal.experiments.report.averages import Mean
from siloseal.federation.privacy.epsilon import MEANINGLESS_EPSILON, epsilon_text

ACCURACY = "accuracy (share of test images)"
MOST_TOLD = 5
"""Of a ranking, behind the best: the next ones and the last."""
BYTES = ("sent_bytes", "received_bytes")


def text_of(label: Label) -> str:
    """A choice of an axis as it stands in figures and tables."""
    return label if isinstance(label, str) else plain(float(label))


def missing(what: str, needed: str) -> str:
    """The note that stands where a picture would."""
    return f"Not drawn: {what}. It needs {needed}."


def ranked(means: Mapping[str, Mean], places: int = 2) -> list[tuple[str, Mean]]:
    """The highest first."""
    return sorted(means.items(), key=lambda item: -round(item[1].value, places + 2))


def ranking(means: Mapping[str, Mean], places: int = 2) -> str:
    """Like "DP-Adam reaches 0.62, DP-SGD 0.41", with a word on those that cannot be told from the best."""
    best, *rest = ranked(means, places)
    told = rest if len(rest) <= MOST_TOLD else [*rest[: MOST_TOLD - 1], rest[-1]]
    others = "".join(f", {name} {one.value:.{places}f}" for name, one in told)
    return f"{best[0]} reaches {best[1].value:.{places}f}{others}{doubts(best[1], dict(rest))}"


def doubts(best: Mean, others: Mapping[str, Mean]) -> str:
    """Whose interval meets that of the best; and who has none, of whom nothing can be said."""
    alone = [name for name, one in others.items() if None in (best.half_width, one.half_width)]
    close = [name for name, one in others.items() if name not in alone and not best.apart(one)]
    whom = "the others" if len(close) == len(others) > 1 else ", ".join(close)
    said = [f"the first cannot be told from {whom}"] if close else []
    if alone:
        said.append("no intervals" if len(alone) == len(others) else f"no interval to compare with {', '.join(alone)}")
    return f" ({'; '.join(said)})" if said else ""


def byte_unit(values: Sequence[float]) -> tuple[float, str]:
    """What to divide by, and its name, so that the largest has one to three digits before the point."""
    largest = max(values, default=0.0)
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if largest >= power:
            return power, unit
    return 1.0, "bytes"


def guarantee(epsilon: float | None, delta: float | None, *, limit: float = MEANINGLESS_EPSILON) -> str:
    """Epsilon in words; from the limit on, what it is worth."""
    if epsilon is None:
        return "epsilon not recorded"
    if epsilon >= limit:
        shown = plain(float(f"{epsilon:.2g}")) if epsilon >= 100 else epsilon_text(epsilon)
        return f"no meaningful guarantee (epsilon {shown})"
    return f"epsilon {epsilon_text(epsilon)}" + ("" if delta is None else f" at delta {plain(delta)}")
