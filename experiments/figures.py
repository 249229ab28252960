"""How every picture looks, and how it is kept: one style, a few kinds of marks, a PNG and an SVG of each.

Series differ in colour (the palette of Okabe and Ito 2008, which colour-blind people tell apart), marker and dash.
Text is 9 pt or more at 6.4 inches, so that a picture is legible at half its size. No pyplot: nothing is global.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from siloseal.experiments.report.averages import Mean

WIDTH = 6.4  # inches
LETTERS = 70  # of a legend, in that width
DPI = 200
GREY = "#666666"
PALE = "#f3d9d3"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("solid", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.5, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "xx", "\\\\\\", "++")

STYLE: dict[Any, Any] = {
    "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "siloseal", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica", "sans-serif"],
    "font.size": 10.0, "axes.labelsize": 10.0, "axes.titlesize": 10.0, "figure.titlesize": 11.0,
    "xtick.labelsize": 9.5, "ytick.labelsize": 9.5, "legend.fontsize": 9.5, "hatch.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "axes.axisbelow": True,
    "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.7, "lines.linewidth": 1.9, "lines.markersize": 7.0,
    "legend.frameon": False, "legend.handlelength": 2.8, "figure.facecolor": "white", "savefig.facecolor": "white",
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """What tells one series from the others, in print without colours, too."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


def style() -> AbstractContextManager[None]:
    """All drawing and saving happens inside."""
    return mpl.rc_context(STYLE)


def look(index: int) -> Look:
    """The same one for the same place in the order, in every panel of a picture."""
    return Look(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)])


def panels(
    count: int, *, columns: int = 1, height: float = 3.3, width: float = WIDTH, share: bool = False
) -> tuple[Picture, list[Axes]]:
    """A picture of so many axes, row by row; with `share`, their values are on one scale."""
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    picture = Picture(figsize=(width, height * rows), layout="constrained")
    FigureCanvasAgg(picture)
    grid = picture.subplots(rows, columns, squeeze=False, sharey=share)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.remove()
    return picture, axes[:count]


def curve(axes: Axes, points: Sequence[tuple[float, Mean]], shown: Look, label: str) -> None:
    """A line through the means, and the band of their confidence intervals where there are any."""
    xs = [x for x, _ in points]
    axes.plot(xs, [mean.value for _, mean in points], label=label, color=shown.colour, marker=shown.marker,
              linestyle=shown.dash, markeredgecolor="white", markeredgewidth=0.5)  # fmt: skip
    axes.fill_between(xs, [mean.low for _, mean in points], [mean.high for _, mean in points],
                      color=shown.colour, alpha=0.16, linewidth=0)  # fmt: skip


def level(axes: Axes, mean: Mean, shown: Look, label: str) -> None:
    """A mean that does not depend on what runs to the right, with the band of its confidence interval."""
    axes.axhline(mean.value, label=label, color=shown.colour, linestyle=shown.dash)
    axes.axhspan(mean.low, mean.high, color=shown.colour, alpha=0.16, linewidth=0)


def dots(axes: Axes, points: Sequence[tuple[float, Mean]], shown: Look, label: str, *, across: bool = False) -> None:
    """Means with error bars and no line: for places that have no order. `across`: the values run to the right."""
    places, values = [place for place, _ in points], [mean.value for _, mean in points]
    halves = [mean.half_width or 0.0 for _, mean in points]
    x, y = (values, places) if across else (places, values)
    axes.errorbar(x, y, xerr=halves if across else None, yerr=None if across else halves, label=label, linestyle="none",
                  color=shown.colour, marker=shown.marker, capsize=3, elinewidth=1.4, markersize=7)  # fmt: skip


def measured_in(axes: Axes, text: str, panel: str = "") -> None:
    """What the values are, and in which unit, over the axis they belong to: read without turning the head."""
    axes.set_title(f"{panel}\n{text}" if panel else text, loc="left", linespacing=1.3)


def name_rows(axes: Axes, names: Sequence[str], *, width: int = 22) -> None:
    """Categories downwards, the first on top."""
    axes.set_yticks(range(len(names)), [textwrap.fill(name, width) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Decades, with 2 and 5 between them where there are few, written as plain numbers. After drawing."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def ticks_at(axis: Axis, values: Iterable[float]) -> None:
    """Ticks where something was measured, and nowhere else."""
    axis.set_major_locator(FixedLocator(sorted(set(values))))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def plain(value: float) -> str:
    """A number as people write it: 0.02, 5, 20,000; powers of ten beyond that."""
    if value and not 1e-3 <= abs(value) < 1e6:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def legend(picture: Picture) -> None:
    """One for all panels, below them, each series once."""
    shown: dict[str, Artist] = {}
    for axes in picture.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if shown:
        labels = [wrapped(label, 26) for label in shown]
        widths = [max(map(len, label.splitlines())) + 6 for label in labels]
        columns = len(labels) if sum(widths) <= LETTERS else max(1, LETTERS // max(widths))
        picture.legend(list(shown.values()), labels, loc="outside lower center", ncols=columns)


def wrapped(message: str, width: int) -> str:
    """In as few lines as it takes, of about equal length, and no number apart from its name or unit."""
    joined = re.sub(r" (?=[-+]?\d)|(?<=\d) (?=(?:s|ms|dB|[kMG]B|bytes)\b)", "\u00a0", message)
    lines = textwrap.wrap(joined, width, break_on_hyphens=False)
    while width > 1 and len(narrower := textwrap.wrap(joined, width - 1, break_on_hyphens=False)) == len(lines):
        lines, width = narrower, width - 1
    return "\n".join(lines)


def save(picture: Picture, folder: Path, name: str, *, message: str, dpi: int) -> tuple[Path, Path]:
    """Puts the message over the picture and writes NAME.png and NAME.svg, whose bytes depend on what is drawn alone."""
    picture.suptitle(wrapped(message, int(picture.get_figwidth() * 9.9)), x=0.012, ha="left", fontweight="bold")
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # it is laid out once, the same way for both files
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    picture.savefig(png, dpi=dpi, metadata={"Software": None})
    picture.savefig(svg, metadata={"Date": None, "Title": message})
    return png, svg
