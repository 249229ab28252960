"""Choosing cells, and averaging what they measured over seeds."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scipy import special

from siloseal.experiments.comparison.rows import Label, Measured

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval; None where one value has none."""

    value: float
    half_width: float | None
    count: int
    by_seed: Mapping[int, float] = field(default_factory=dict, compare=False, repr=False)
    """What it is the mean of, where each seed has one number."""

    @property
    def low(self) -> float:
        """The lower end; the value itself where there is no interval."""
        return self.value - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + (self.half_width or 0.0)

    def apart(self, other: "Mean") -> bool:
        """Whether they differ beyond chance, at 95 %.

        Of the same seeds, by their difference seed by seed: what a seed gives to both, data and start, cancels. Else by
        intervals that do not meet, which is stricter than need be.
        """
        if len(self.by_seed) > 1 and self.by_seed.keys() == other.by_seed.keys():
            gap = mean([value - other.by_seed[seed] for seed, value in self.by_seed.items()])
            return gap is not None and gap.half_width is not None and abs(gap.value) > gap.half_width
        known = self.half_width is not None and other.half_width is not None
        return known and (self.low > other.high or other.low > self.high)

    def text(self, places: int = 3) -> str:
        """Like 0.620 ± 0.012."""
        margin = "" if self.half_width is None else f" ± {self.half_width:.{places}f}"
        return f"{self.value:.{places}f}{margin}"


def mean(values: Sequence[float]) -> Mean | None:
    """With Student's t, for seeds are few and the deviation is estimated from them; None of nothing."""
    if not values:
        return None
    if len(values) == 1:
        return Mean(values[0], None, 1)
    quantile = float(special.stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    half_width = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Mean(statistics.fmean(values), half_width, len(values))


def choices(cells: Iterable[Measured], axis: str) -> list[Label]:
    """What the cells chose on this axis: numbers ascending, words in the order of the grid."""
    found = list(dict.fromkeys(cell.labels[axis] for cell in cells if axis in cell.labels))
    return sorted(found, key=float) if all(is_number(label) for label in found) else found


def is_number(label: Label) -> bool:
    """Whether an axis can be drawn to scale."""
    return isinstance(label, int | float)


def varied(cells: Sequence[Measured]) -> list[str]:
    """Axes with more than one choice, the order of the config."""
    axes = dict.fromkeys(axis for cell in cells for axis in cell.labels)
    return [axis for axis in axes if len(choices(cells, axis)) > 1]


def at(cells: Iterable[Measured], **labels: Label) -> list[Measured]:
    """The cells with these labels, one a seed."""
    return [cell for cell in cells if all(cell.labels.get(axis) == label for axis, label in labels.items())]


def kind_of(cells: Iterable[Measured], setting: str) -> str:
    """The kind that all these cells have; empty where they have none, and where a label stands for several."""
    kinds = {cell.kinds.get(setting, "") for cell in cells}
    return kinds.pop() if len(kinds) == 1 else ""


def chosen(cells: Sequence[Measured], axis: str, label: Label) -> list[Measured]:
    """The cells with one choice of an axis; all for the empty one, which stands for a grid without that axis."""
    return at(cells, **{axis: label}) if label != "" else list(cells)


def numbers(cells: Iterable[Measured], measure: str, **where: str) -> list[float]:
    """One number a cell, the mean of its rows of that kind; cells without any are left out."""
    found = [cell.find(measure, **where) for cell in cells]
    return [statistics.fmean(row.value for row in rows) for rows in found if rows]


def totals(cells: Iterable[Measured], measures: Sequence[str], **where: str) -> list[float]:
    """One number a cell, the sum of its rows of these kinds; cells without any are left out."""
    found = [[row.value for measure in measures for row in cell.find(measure, **where)] for cell in cells]
    return [sum(values) for values in found if values]


def a_silo(cells: Iterable[Measured], measures: Sequence[str], **where: str) -> list[float]:
    """One number a cell: the sum of its rows of these kinds, for the mean silo."""
    shares = []
    for cell in cells:
        rows = [row for measure in measures for row in cell.find(measure, **where)]
        if rows:
            shares.append(sum(row.value for row in rows) / len({row.silo for row in rows}))
    return shares


def headline(cells: Iterable[Measured]) -> str:
    """The classifier that accuracies are of: the first one of the first cell, which every stage is measured with."""
    return next((row.detail for cell in cells for row in cell.find("accuracy")), "")


def accuracy(cells: Sequence[Measured], stage: str) -> Mean | None:
    """Of the global model, or of what the stage names, with the headline's classifier."""
    where = {"stage": stage, "silo": "", "detail": headline(cells)}
    found = [(cell.seed, value) for cell in cells for value in numbers([cell], "accuracy", **where)]
    average = mean([value for _, value in found])
    unique = dict(found) if len(dict(found)) == len(found) else {}
    return None if average is None else replace(average, by_seed=unique)


def bands(means: Iterable[Mean], over: str = "seeds") -> str:
    """The sentence of a caption that says what the bands are, or why there are none."""
    counts = sorted({one.count for one in means})
    if not counts or counts == [1]:
        return f"One {over.removesuffix('s')} a point, so there is no confidence interval."
    several = [count for count in counts if count > 1]
    number = f"{several[0]}" if len(several) == 1 else f"{several[0]} to {several[-1]}"
    alone = f" A point of one {over.removesuffix('s')} has none." if 1 in counts else ""
    return f"Means with 95 % confidence intervals (Student t) over {number} {over}.{alone}"
