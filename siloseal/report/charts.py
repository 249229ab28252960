"""The one chart engine: how every picture looks, a few kinds of marks, and a picture as a figure of a document.

It draws with matplotlib, and not as hand-written SVG, because the published figures are PNG files beside a Markdown
report, with logarithmic axes, panels, hatches and error bars; writing SVG by hand would mean a plotting library of our
own and a second one for the PNG. What hand-written SVG does better is kept: a picture is an SVG with real
text inside the page, small ones are drawn for the width of a phone, and only commands that draw import this module.

Series differ in colour (the palette of Okabe and Ito 2008, which colour-blind people tell apart), marker and dash.
Text is 9 pt or more at 6.4 inches, so that a picture is legible at half its size. No pyplot: nothing is global.
"""

import io
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from siloseal.report.document import Figure
from siloseal.report.intervals import Mean
from siloseal.report.wording import plain

WIDTH = 6.4  # inches
NARROW = 4.8  # inches: a width whose text a phone still shows legibly
LETTERS = 11  # of a legend, in an inch
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
    """A context with the style of every picture, in which all drawing and saving happens."""
    return mpl.rc_context(STYLE)


def look(index: int) -> Look:
    """The look of a series: the same one for the same place in the order, in every panel of a picture."""
    return Look(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)])


def panels(
    count: int, *, columns: int = 1, height: float = 3.3, width: float = WIDTH, share: bool = False
) -> tuple[Picture, list[Axes]]:
    """A picture of `count` axes, row by row; with `share`, their values are on one scale."""
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
    """Draw a line through the means, and the band of their confidence intervals where there are any."""
    xs = [x for x, _ in points]
    axes.plot(xs, [mean.value for _, mean in points], label=label, color=shown.colour, marker=shown.marker,
              linestyle=shown.dash, markeredgecolor="white", markeredgewidth=0.5)  # fmt: skip
    axes.fill_between(xs, [mean.low for _, mean in points], [mean.high for _, mean in points],
                      color=shown.colour, alpha=0.16, linewidth=0)  # fmt: skip


def level(axes: Axes, mean: Mean, shown: Look, label: str) -> None:
    """Draw a mean that is the same all along the horizontal axis, with the band of its confidence interval."""
    axes.axhline(mean.value, label=label, color=shown.colour, linestyle=shown.dash)
    axes.axhspan(mean.low, mean.high, color=shown.colour, alpha=0.16, linewidth=0)


def dots(axes: Axes, points: Sequence[tuple[float, Mean]], shown: Look, label: str, *, across: bool = False) -> None:
    """Draw means with error bars, where they have any, and no line: for places that have no order.

    With `across` the values run to the right.
    """
    places, values = [place for place, _ in points], [mean.value for _, mean in points]
    halves = [math.nan if mean.half_width is None else mean.half_width for _, mean in points]
    x, y = (values, places) if across else (places, values)
    axes.errorbar(x, y, xerr=halves if across else None, yerr=None if across else halves, label=label, linestyle="none",
                  color=shown.colour, marker=shown.marker, capsize=3, elinewidth=1.4, markersize=7)  # fmt: skip


def fit_shares(panels: Sequence[Axes], values: Iterable[float], *, which: Literal["x", "y"] = "y") -> str:
    """Fit an axis of shares to its values, and mark it where it does not begin at zero.

    Returns the sentence of the caption that says so. The panels are on one scale.
    """
    low, high = share_limits(values)
    for axes in panels:
        (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    if low == 0:
        return ""
    for axes in panels:
        mark_break(axes, which)
    return f" The axis runs from {low:g} to {high:g}, not from zero."


def share_limits(values: Iterable[float]) -> tuple[float, float]:
    """Round numbers between 0 and 1, a little beyond the values on both sides."""
    found = list(values) or [0.0, 1.0]
    margin = max(0.01, 0.08 * (max(found) - min(found)))
    low, high = min(found) - margin, max(found) + margin
    step = next((step for step in (0.01, 0.02, 0.05) if high - low <= 8 * step), 0.1)
    low = 0.0 if low <= 0.2 * high else round(math.floor(low / step) * step, 2)  # near zero: zero costs little room
    return low, min(1.0, round(math.ceil(high / step) * step, 2))


def mark_break(axes: Axes, which: Literal["x", "y"]) -> None:
    """Draw two slanted strokes through the axis, near its beginning."""
    stroke = [(-1.0, -0.5), (1.0, 0.5)] if which == "y" else [(-0.5, -1.0), (0.5, 1.0)]
    for place in (0.025, 0.05):
        x, y = (0.0, place) if which == "y" else (place, 0.0)
        axes.plot(x, y, marker=stroke, markersize=11, color=GREY, markeredgewidth=1.2, linestyle="none",
                  transform=axes.transAxes, clip_on=False, zorder=5)  # fmt: skip


def measured_in(axes: Axes, text: str, panel: str = "") -> None:
    """Write what the values are, and in which unit, over their axis: read without turning the head."""
    axes.set_title(f"{panel}\n{text}" if panel else text, loc="left", linespacing=1.3)


def row_inches(names: Iterable[str], width: int) -> float:
    """The height of a row that the longest of its names, written by `name_rows` in this width, has room in."""
    return max(0.3, 0.08 + 0.16 * max(len(textwrap.wrap(name, width)) for name in names))


def name_rows(axes: Axes, names: Sequence[str], *, width: int = 22) -> None:
    """Name the rows by their categories, the first on top."""
    axes.set_yticks(range(len(names)), [textwrap.fill(name, width) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with 2 and 5 between few decades, in plain numbers. Call it after drawing."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def ticks_at(axis: Axis, values: Iterable[float]) -> None:
    """Set ticks where something was measured, and nowhere else."""
    axis.set_major_locator(FixedLocator(sorted(set(values))))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def legend(picture: Picture) -> None:
    """Draw one legend for all panels, below them, with each series once."""
    shown: dict[str, Artist] = {}
    for axes in picture.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if shown:
        labels = [wrapped(label, 26) for label in shown]
        widths = [max(map(len, label.splitlines())) + 6 for label in labels]
        room = int(LETTERS * picture.get_figwidth())
        columns = len(labels) if sum(widths) <= room else max(1, room // max(widths))
        picture.legend(list(shown.values()), labels, loc="outside lower center", ncols=columns)


def wrapped(message: str, width: int) -> str:
    """The text in as few lines as it takes, of about equal length, and no number apart from its name or unit."""
    joined = re.sub(r" (?=[-+]?\d)|(?<=\d) (?=(?:s|ms|dB|[kMG]B|bytes)\b)", "\u00a0", message)
    lines = textwrap.wrap(joined, width, break_on_hyphens=False)
    while width > 1 and len(narrower := textwrap.wrap(joined, width - 1, break_on_hyphens=False)) == len(lines):
        lines, width = narrower, width - 1
    return "\n".join(lines)


def lay_out(picture: Picture, message: str) -> None:
    """Write the message over the picture, and give everything its place. Call it once, after drawing."""
    picture.suptitle(wrapped(message, int(picture.get_figwidth() * 9.9)), x=0.012, ha="left", fontweight="bold")
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # it is laid out once, the same way for every file


def figure(picture: Picture, name: str, *, message: str, caption: str) -> Figure:
    """The picture, with its message over it, as a part of a document. Its bytes depend on what is drawn alone."""
    lay_out(picture, message)
    svg = io.BytesIO()
    picture.savefig(svg, format="svg", metadata={"Date": None, "Title": message})
    of_images = any(axes.images for axes in picture.axes)
    return Figure(name, message, caption, svg.getvalue(), float(picture.get_figwidth()), of_images=of_images)


def keep(picture: Picture, drawn: Figure, folder: Path, *, dpi: int) -> Figure:
    """Write NAME.png and NAME.svg of a picture that `figure` drew."""
    folder.mkdir(parents=True, exist_ok=True)
    png = folder / f"{drawn.name}.png"
    png.with_suffix(".svg").write_bytes(drawn.svg)
    picture.savefig(png, dpi=dpi, metadata={"Software": None})
    return replace(drawn, png=png)
