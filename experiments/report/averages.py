"""Choosing cells, and averaging what they measured over seeds."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.report.intervals import Mean, mean


def choices(cells: Iterable[Measured], axis: str) -> list[Label]:
    """Return the cells' choices on this axis: numbers ascending, words in the order of the grid."""
    found = list(dict.fromkeys(cell.labels[axis] for cell in cells if axis in cell.labels))
    return sorted(found, key=float) if all(is_number(label) for label in found) else found


def is_number(label: Label) -> bool:
    """Whether an axis can be drawn to scale."""
    return isinstance(label, int | float)


def varied(cells: Sequence[Measured]) -> list[str]:
    """Return the axes with more than one choice, in the order of the config."""
    axes = dict.fromkeys(axis for cell in cells for axis in cell.labels)
    return [axis for axis in axes if len(choices(cells, axis)) > 1]


def at(cells: Iterable[Measured], **labels: Label) -> list[Measured]:
    """Return the cells with these labels, one a seed."""
    return [cell for cell in cells if all(cell.labels.get(axis) == label for axis, label in labels.items())]


def kind_of(cells: Iterable[Measured], setting: str) -> str:
    """Return the kind that all these cells have; empty where they have none, and where a label stands for several."""
    kinds = {cell.kinds.get(setting, "") for cell in cells}
    return kinds.pop() if len(kinds) == 1 else ""


def chosen(cells: Sequence[Measured], axis: str, label: Label) -> list[Measured]:
    """Return the cells with one choice of an axis; all for the empty choice, of a grid without that axis."""
    return at(cells, **{axis: label}) if label != "" else list(cells)


def numbers(cells: Iterable[Measured], measure: str, **where: str) -> list[float]:
    """Return one number a cell, the mean of its rows of that kind; cells without any are left out."""
    found = [cell.find(measure, **where) for cell in cells]
    return [statistics.fmean(row.value for row in rows) for rows in found if rows]


def totals(cells: Iterable[Measured], measures: Sequence[str], **where: str) -> list[float]:
    """Return one number a cell, the sum of its rows of these kinds; cells without any are left out."""
    found = [[row.value for measure in measures for row in cell.find(measure, **where)] for cell in cells]
    return [sum(values) for values in found if values]


def a_silo(cells: Iterable[Measured], measures: Sequence[str], **where: str) -> list[float]:
    """Return one number a cell: the sum of its rows of these kinds, for the mean silo."""
    shares = []
    for cell in cells:
        rows = [row for measure in measures for row in cell.find(measure, **where)]
        if rows:
            shares.append(sum(row.value for row in rows) / len({row.silo for row in rows}))
    return shares


def headline(cells: Iterable[Measured]) -> str:
    """Return the classifier of the accuracies: the first one of the first cell, which measures every stage."""
    return next((row.detail for cell in cells for row in cell.find("accuracy")), "")


def accuracy(cells: Sequence[Measured], stage: str) -> Mean | None:
    """Return the accuracy of the global model, or of the stage's, with the headline's classifier."""
    where = {"stage": stage, "silo": "", "detail": headline(cells)}
    found = [(cell.seed, value) for cell in cells for value in numbers([cell], "accuracy", **where)]
    average = mean([value for _, value in found])
    unique = dict(found) if len(dict(found)) == len(found) else {}
    return None if average is None else replace(average, by_seed=unique)
