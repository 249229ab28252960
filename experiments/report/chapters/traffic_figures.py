"""The pictures of the chapter on traffic."""

import statistics
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Measured
from siloseal.experiments.report.averages import accuracy, at, choices, headline
from siloseal.experiments.report.chapters.draft import Album
from siloseal.experiments.report.chapters.slides import OURS
from siloseal.experiments.report.chapters.words import ACCURACY, text_of
from siloseal.report import charts, wording
from siloseal.report.document import Figure
from siloseal.report.intervals import Mean, bands, ends, mean

Formula = dict[str, dict[int, float]]
"""Bytes until each epoch, by scheme."""
Counted = dict[str, list[tuple[float, Mean]]]
"""Numbers of rounds, with the bytes that such runs counted, by scheme."""


def named(name: str, model: str) -> str:
    """Return a picture's name, with its model's where a grid has several."""
    return "-".join(filter(None, (name, *"".join(c if c.isalnum() else " " for c in model).split())))


def break_even(formula: Formula, other: str) -> int | None:
    """Return the first epoch from which on ours stays cheaper."""
    ours, theirs = formula.get(OURS, {}), formula.get(other, {})
    dearer = [epoch for epoch in ours.keys() & theirs.keys() if ours[epoch] >= theirs[epoch]]
    cheaper = [epoch for epoch in ours.keys() & theirs.keys() if epoch > max(dearer, default=0)]
    return min(cheaper, default=None)


def growth(formula: Formula, counted: Counted, model: str, album: Album) -> Figure:
    """Draw bytes over epochs, with the epoch from which on ours is cheaper."""
    schemes = list(dict.fromkeys([*formula, *counted]))
    largest = [value for epochs in formula.values() for value in epochs.values()]
    largest += [one.value for points in counted.values() for _, one in points]
    unit, name = wording.byte_unit(statistics.median(largest))
    picture, (axes,) = charts.panels(1, height=4.8)
    for index, scheme in enumerate(schemes):
        look = charts.look(index)
        axes.plot([], [], color=look.colour, marker=look.marker, fillstyle="full" if scheme in counted else "none",
                  linestyle="--" if scheme in formula else "none", label=scheme)  # fmt: skip
        if epochs := formula.get(scheme):
            axes.plot(list(epochs), [value / unit for value in epochs.values()], color=look.colour, linestyle="--",
                      marker=look.marker, fillstyle="none", markevery=hollow(epochs))  # fmt: skip
        for rounds, one in counted.get(scheme, []):
            axes.plot(rounds, one.value / unit, color=look.colour, marker=look.marker, markersize=8, linestyle="none")
    mark_break_even(axes, formula, unit)
    if counted:
        axes.plot([], [], color=charts.GREY, marker="o", linestyle="none", label="measured (filled markers)")
    if formula:
        axes.plot([], [], color=charts.GREY, linestyle="--", marker="o", fillstyle="none", label="extended by formula")
    charts.logarithmic(axes, "x")
    charts.logarithmic(axes, "y")
    axes.set_xlabel("epochs (rounds)")
    charts.measured_in(axes, f"traffic of all silos until then ({name})")
    charts.legend(picture)
    caption = "Sent and received by all silos together; both axes are logarithmic. "
    caption += (
        bands(one for points in counted.values() for _, one in points) if counted else "Nothing here was measured."
    )
    said = f"{model}, {message(formula, counted)}" if model else message(formula, counted)
    return album.keep(picture, named("growth", model), message=said, caption=caption)


def hollow(epochs: dict[int, float]) -> list[int]:
    """Return where a line by formula shows its marker: few places, evenly on a logarithmic axis, and its end."""
    last = len(epochs) - 1
    return [n for n, epoch in enumerate(epochs) if epoch in (1, 20, 50, 100) or n == last]


def mark_break_even(axes: Axes, formula: Formula, unit: float) -> None:
    """Draw circles where ours becomes the cheaper one, each with its epoch."""
    evens = {even for other in formula if other != OURS and (even := break_even(formula, other)) and even > 1}
    for even in sorted(evens):
        place = (even, formula[OURS][even] / unit)
        axes.plot(*place, marker="o", markersize=15, fillstyle="none", color="black")
        axes.annotate(f"epoch {even}", place, (0, -14), va="top", ha="center", textcoords="offset points", fontsize=9.5)
    if evens:
        axes.plot([], [], marker="o", markersize=11, fillstyle="none", color="black", linestyle="none",
                  label="one scheme more is dearer\nthan ours from here on")  # fmt: skip


def message(formula: Formula, counted: Counted) -> str:
    """Say where the schemes end; without formulas, what was counted."""
    last = max((max(epochs) for epochs in formula.values()), default=0)
    if OURS not in formula or len(formula) == 1:
        found = {scheme: points[-1] for scheme, points in counted.items()}
        return "; ".join(f"{scheme}: {wording.size(one.value)} after {rounds:g} rounds"
                         for scheme, (rounds, one) in found.items()) or "Traffic by formula"  # fmt: skip
    parts = []
    for other in (scheme for scheme in formula if scheme != OURS and last in formula[scheme]):
        even = break_even(formula, other)
        since = "" if even is None else " (dearer at once)" if even == 1 else f" (dearer from epoch {even})"
        parts.append(f"{other} {wording.size(formula[other][last])}{since}")
    ours = wording.size(formula[OURS].get(last, 0.0))
    return f"{last} epochs: {ours} with one encrypted sum; {', '.join(parts)}"


def quality(
    cells: Sequence[Measured], all_bytes: Callable[[Sequence[Measured]], list[float]], model: str, album: Album
) -> Figure | None:
    """Draw what the bytes buy."""
    picture, (axes,) = charts.panels(1, height=4.2)
    shown: dict[str, tuple[float, Mean]] = {}
    drawn: list[Mean] = []
    for index, scheme in enumerate(choices(cells, "scheme")):
        points = []
        for rounds in choices(at(cells, scheme=scheme), "rounds"):
            there = at(cells, scheme=scheme, rounds=rounds)
            spent, reached = mean(all_bytes(there)), accuracy(there, "final")
            points += [(spent.value, reached)] if spent and reached else []
        if points:
            scaled = sorted(((spent / 1e6, reached) for spent, reached in points), key=lambda item: item[0])
            charts.curve(axes, scaled, charts.look(index), text_of(scheme))
            shown[text_of(scheme)] = max(points, key=lambda item: item[1].value)
            drawn += [one for _, one in points]
    if not shown:
        return None
    charts.logarithmic(axes, "x")
    axes.set_xlabel("bytes of all silos (MB)")
    charts.measured_in(axes, ACCURACY)
    charts.legend(picture)
    fitted = charts.fit_shares([axes], ends(drawn))
    best = "; ".join(f"{scheme} {one.value:.2f} for {wording.size(spent)}" for scheme, (spent, one) in shown.items())
    caption = f"Final accuracy of the {headline(cells)} classifier, a point for each number of rounds. {bands(drawn)}"
    caption += fitted
    return album.keep(picture, named("quality", model), message=f"Best accuracy: {best}", caption=caption)
