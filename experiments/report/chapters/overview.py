"""The chapter for any comparison of the user's own: its headline number over the axes that vary."""

from collections.abc import Sequence
from itertools import product

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Label, Measured, Row
from siloseal.experiments.report.averages import at, choices, is_number, numbers, varied
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import missing, text_of
from siloseal.report import charts
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

MOST_LINES, MOST_ROWS = len(charts.COLOURS), 24

Point = tuple[Label, ...]
"""A choice for each axis that varies."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: one picture and the table behind it."""
    shown = headline_row(cells)
    axes = varied(cells) or list(dict.fromkeys(axis for cell in cells for axis in cell.labels))[:1]
    parts: list[Part] = []
    means = {} if shown is None else averages(cells, axes, shown)
    if shown is None or not means:
        parts.append(missing("the overview", "cells that measured something"))
    else:
        parts += [picture(means, axes, shown, album), table(means, axes, shown)]
        if len(lines(means, axes)) > most_shown(means, axes):
            parts.append(f"The picture has the first {most_shown(means, axes)} only; the table has all combinations.")
        parts += absent(cells, axes, means)
    parts.append("One measure is shown; all that was measured is in the table beside this report.")
    lead = "Every combination of the grid, averaged over its seeds."
    return Draft("Overview", lead, tuple(axes), parts)


def headline_row(cells: Sequence[Measured]) -> Row | None:
    """Return the row of the final model's accuracy; of cells without it, the first number that they measured."""
    rows = [row for cell in cells for row in cell.rows]
    final = (row for row in rows if row.measure == "accuracy" and row.stage == "final" and not row.silo)
    return next(final, rows[0] if rows else None)


def averages(cells: Sequence[Measured], axes: Sequence[str], shown: Row) -> dict[Point, Mean]:
    """Return the headline number of every combination that was measured."""
    means = {}
    for point in product(*(choices(cells, axis) for axis in axes)):
        there = at(cells, **dict(zip(axes, point, strict=True)))
        where = {"stage": shown.stage, "silo": shown.silo, "detail": shown.detail}
        found = mean(numbers(there, shown.measure, **where))
        if found is not None:
            means[point] = found
    return means


def absent(cells: Sequence[Measured], axes: Sequence[str], means: dict[Point, Mean]) -> list[str]:
    """Return the note on combinations that ran and did not measure what is shown."""
    lacking = dict.fromkeys(
        ", ".join(f"{axis} {text_of(label)}" for axis, label in cell.labels.items())
        for cell in cells
        if tuple(cell.labels.get(axis) for axis in axes) not in means
    )
    return [f"Not shown, because these did not measure it: {'; '.join(lacking)}."] if lacking else []


def abscissa(means: dict[Point, Mean], axes: Sequence[str]) -> int | None:
    """Return the first axis of numbers, if there is one."""
    return next((n for n in range(len(axes)) if all(is_number(point[n]) for point in means)), None)


def lines(means: dict[Point, Mean], axes: Sequence[str]) -> dict[str, list[tuple[Label, Mean]]]:
    """Return points along the axis of numbers, by what else they chose."""
    across = abscissa(means, axes)
    found: dict[str, list[tuple[Label, Mean]]] = {}
    for point, value in means.items():
        rest = [f"{axes[n]} {text_of(label)}" for n, label in enumerate(point) if n != across]
        found.setdefault(", ".join(rest), []).append((point[across] if across is not None else "", value))
    return found


def most_shown(means: dict[Point, Mean], axes: Sequence[str]) -> int:
    """Return how many lines or rows a reader can tell apart."""
    return MOST_ROWS if abscissa(means, axes) is None else MOST_LINES


def picture(means: dict[Point, Mean], axes: Sequence[str], shown: Row, album: Album) -> Figure:
    """Draw lines over numbers, and dots beside words."""
    across = abscissa(means, axes)
    label = named(shown) + (f" ({shown.unit or 'share of 1'})" if shown.unit or shown.measure == "accuracy" else "")
    series = dict(list(lines(means, axes).items())[: most_shown(means, axes)])
    drawn, (plot,) = charts.panels(1, height=1.6 + 0.4 * len(series) if across is None else 3.6)
    if across is None:
        rows_of_dots(plot, {name: points[0][1] for name, points in series.items()})
        plot.set_xlabel(label)
    else:
        for index, (name, points) in enumerate(series.items()):
            charts.curve(plot, [(float(x), value) for x, value in points], charts.look(index), name)
        scale(plot, [float(point[across]) for point in means])
        plot.set_xlabel(axes[across])
        charts.measured_in(plot, label)
        charts.legend(drawn)
    caption = f"{sentence(shown)}. {bands(means.values())}"
    if shown.measure == "accuracy":
        values = ends(one for points in series.values() for _, one in points)
        caption += charts.fit_shares([plot], values, which="x" if across is None else "y")
    return album.keep(drawn, "overview", message=message(means, axes, shown), caption=caption)


def rows_of_dots(plot: Axes, means: dict[str, Mean]) -> None:
    """Draw a dot for each combination: the axis need not begin at zero."""
    charts.dots(plot, list(enumerate(means.values())), charts.look(0), "", across=True)
    charts.name_rows(plot, list(means), width=30)


def scale(plot: Axes, places: Sequence[float]) -> None:
    """Make the axis logarithmic where the numbers span decades."""
    if min(places) > 0 and max(places) >= 30 * min(places):
        charts.logarithmic(plot, "x")
        charts.ticks_at(plot.xaxis, places)


def named(shown: Row) -> str:
    """Return in words what is shown."""
    words = [shown.measure.replace("_", " "), shown.stage.replace("_", " "), shown.detail, shown.silo]
    return ", ".join(word for word in words if word)


def sentence(shown: Row) -> str:
    """Return what is shown, as the beginning of a sentence."""
    return named(shown)[:1].upper() + named(shown)[1:]


def message(means: dict[Point, Mean], axes: Sequence[str], shown: Row) -> str:
    """Say what the two ends of the table are."""

    def worded(point: Point) -> str:
        return ", ".join(f"{axis} {text_of(label)}" for axis, label in zip(axes, point, strict=True))

    top, bottom = max(means, key=lambda p: means[p].value), min(means, key=lambda p: means[p].value)
    unit, measure = f" {shown.unit}" if shown.unit else "", shown.measure.replace("_", " ")
    if len(means) == 1:
        return f"{measure.capitalize()}: {means[top].value:.3g}{unit}"
    known = None not in (means[top].half_width, means[bottom].half_width)
    overlap = " (their intervals overlap)" if known and not means[top].apart(means[bottom]) else ""
    first = f"Highest {measure}: {means[top].value:.3g}{unit} with {worded(top)}"
    return f"{first}; lowest: {means[bottom].value:.3g}{unit} with {worded(bottom)}{overlap}"


def table(means: dict[Point, Mean], axes: Sequence[str], shown: Row) -> Table:
    """Return the table of all combinations."""
    rows = tuple((*map(text_of, point), written(value, shown), str(value.count)) for point, value in means.items())
    return Table(
        averaged(sentence(shown), means.values()),
        (*axes, shown.measure.replace("_", " "), "seeds"),
        rows,
        (len(axes), len(axes) + 1),
    )


def written(mean: Mean, shown: Row) -> str:
    """Return an accuracy with three places, another number with three digits and its unit."""
    if shown.measure == "accuracy":
        return mean.text()
    half = "" if mean.half_width is None else f" ± {mean.half_width:,.3g}"
    return f"{mean.value:,.3g}{half} {shown.unit}".rstrip()
