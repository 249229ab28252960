"""Words that chapters share: labels of axes, rankings, and what is missing."""

from collections.abc import Mapping

from siloseal.experiments.comparison.rows import Label
from siloseal.report.intervals import Mean
from siloseal.report.wording import plain

ACCURACY = "accuracy (share of test images)"
MOST_LISTED = 5
"""Most names of a ranking behind the best: the next ones and the last."""
BYTES = ("sent_bytes", "received_bytes")


def text_of(label: Label) -> str:
    """Return a choice of an axis as it stands in figures and tables."""
    return label if isinstance(label, str) else plain(float(label))


def missing(what: str, needed: str) -> str:
    """Return the note that stands where a picture would."""
    return f"Not drawn: {what}. It needs {needed}."


def ranked(means: Mapping[str, Mean], places: int = 2) -> list[tuple[str, Mean]]:
    """Return the numbers with their names, the highest first."""
    return sorted(means.items(), key=lambda item: -round(item[1].value, places + 2))


def ranking(means: Mapping[str, Mean], places: int = 2) -> str:
    """Return words like "DP-Adam reaches 0.62, DP-SGD 0.41", and who is not clearly below the best."""
    best, *rest = ranked(means, places)
    listed = rest if len(rest) <= MOST_LISTED else [*rest[: MOST_LISTED - 1], rest[-1]]
    others = "".join(f", {name} {one.value:.{places}f}" for name, one in listed)
    return f"{best[0]} reaches {best[1].value:.{places}f}{others}{doubts(best[1], dict(rest))}"


def doubts(best: Mean, others: Mapping[str, Mean]) -> str:
    """Say whose interval meets that of the best, and who has none, of whom nothing can be said."""
    alone = [name for name, one in others.items() if None in (best.half_width, one.half_width)]
    close = [name for name, one in others.items() if name not in alone and not best.apart(one)]
    whom = "the others" if len(close) == len(others) > 1 else ", ".join(close)
    said = [f"the first cannot be told from {whom}"] if close else []
    if alone:
        said.append("no intervals" if len(alone) == len(others) else f"no interval to compare with {', '.join(alone)}")
    return f" ({'; '.join(said)})" if said else ""
