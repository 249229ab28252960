"""Words that chapters share: labels of axes, rankings, and what is missing."""

from collections.abc import Mapping

from siloseal.experiments.comparison.rows import Label
from siloseal.report.intervals import Mean
from siloseal.report.wording import plain

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
