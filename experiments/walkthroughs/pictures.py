"""The pictures of the notebooks, as PNG with a text for whoever cannot see them.

Figures are made without pyplot: nothing is global, and a cell shows what its last expression returns.
"""

import io
import textwrap
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from IPython.display import Image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from siloseal.report.charts import COLOURS, logarithmic, look

DOTS_PER_INCH = 160
GREY = 60

Points = tuple[Sequence[float], Sequence[float | None]]


def lines(
    series: Mapping[str, Points], *, title: str, x: str, y: str, log_x: bool = False, log_y: bool = False
) -> Image:
    """Draw a line for each name; points that could not be reached (None) are left out."""
    figure, axes = _figure(6.4, 3.8, title)
    for number, (name, (across, up)) in enumerate(series.items()):
        known = [(a, u) for a, u in zip(across, up, strict=True) if u is not None]
        shown = look(number)
        axes.plot(*zip(*known, strict=True), linestyle=shown.dash, color=shown.colour, marker=shown.marker, label=name)
    axes.set(xlabel=x, ylabel=y)
    if log_x:
        logarithmic(axes, "x")
    if log_y:
        logarithmic(axes, "y")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    return _png(figure, title, 640)


def bars(values: Mapping[str, float], *, title: str, y: str, x: str = "", digits: int = 2) -> Image:
    """Draw a bar for each name, from zero, with its value on top."""
    figure, axes = _figure(6.4, 3.4, title)
    drawn = axes.bar(list(values), list(values.values()), color=COLOURS[0])
    axes.bar_label(drawn, fmt=f"%.{digits}f", fontsize="small", padding=2)
    axes.set(xlabel=x, ylabel=y)
    axes.margins(y=0.15)
    axes.tick_params(axis="x", labelsize="small", rotation=20 if max(map(len, values)) > 9 else 0)
    return _png(figure, title, 640)


def histograms(values: Mapping[str, NDArray[np.int64]], *, title: str, x: str, largest: int) -> Image:
    """Draw how often each integer from 0 to `largest` comes, one panel for each name."""
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    figure.suptitle(_wrapped(title), fontsize="medium")
    for axes, (name, found), colour in zip(
        figure.subplots(1, len(values), sharey=True, squeeze=False)[0], values.items(), COLOURS, strict=False
    ):
        axes.bar(range(largest + 1), np.bincount(found, minlength=largest + 1), color=colour)
        axes.set(xlabel=x, title=name)
        axes.title.set_fontsize("small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("entries")
    return _png(figure, title, 640)


def image_rows(rows: Mapping[str, NDArray[np.uint8]], *, title: str) -> Image:
    """Draw a row of images (N, 1, H, W) for each name, all of one size."""
    figure = Figure(figsize=(6.4, 0.45 + 0.62 * len(rows)), layout="constrained")
    figure.suptitle(_wrapped(title), fontsize="medium")
    panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for axes, (name, images) in zip(panels, rows.items(), strict=True):
        axes.imshow(_side_by_side(images), cmap="gray_r", vmin=0, vmax=255, aspect="equal")
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
        axes.set(xticks=[], yticks=[])
    return _png(figure, title, 640)


def named_images(images: NDArray[np.uint8], names: Sequence[str], wrong: Collection[int], *, title: str) -> Image:
    """Draw images (N, 1, H, W) with a name below each, those that are wrong in another colour and with a cross."""
    figure = Figure(figsize=(6.4, 1.45), layout="constrained")
    figure.suptitle(_wrapped(title), fontsize="medium")
    panels = figure.subplots(1, len(images), squeeze=False)[0]
    for number, (axes, image, name) in enumerate(zip(panels, images, names, strict=True)):
        axes.imshow(image[0], cmap="gray_r", vmin=0, vmax=255)
        axes.set(xticks=[], yticks=[])
        label = f"{name} ✗" if number in wrong else name
        axes.set_xlabel(label, color=COLOURS[number in wrong], fontsize="small")
    return _png(figure, title, 640)


def ring(neighbours: Mapping[str, Collection[str]], chosen: str, *, title: str) -> Image:
    """Draw the silos in the order of their ring, and one of them with its neighbours."""
    order = ring_order(neighbours)
    angles = 2 * np.pi * np.arange(len(order)) / len(order)
    places = {silo: (float(np.cos(angle)), float(np.sin(angle))) for silo, angle in zip(order, angles, strict=True)}
    figure, axes = _figure(4.6, 4.6, title)
    for other in neighbours[chosen]:
        axes.plot(*zip(places[chosen], places[other], strict=True), color=COLOURS[1], linewidth=0.8)
    axes.scatter([x for x, _ in places.values()], [y for _, y in places.values()], s=14, color=COLOURS[0], zorder=2)
    axes.scatter([places[chosen][0]], [places[chosen][1]], s=60, color=COLOURS[1], zorder=3)
    axes.set_axis_off()
    axes.set_aspect("equal")
    return _png(figure, title, 460)


def ring_order(neighbours: Mapping[str, Collection[str]]) -> list[str]:
    """Return the order in which the silos stand, from who is whose neighbour.

    Next on the ring is who shares most neighbours, itself included, with the last one: one step apart, all but two.
    """
    order, left = [next(iter(neighbours))], set(list(neighbours)[1:])
    while left:
        around = {order[-1], *neighbours[order[-1]]}
        order.append(max(sorted(left & around), key=lambda silo: len(around & {silo, *neighbours[silo]})))
        left.remove(order[-1])
    return order


def _figure(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(_wrapped(title, int(11 * width)), fontsize="medium", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _side_by_side(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return images (N, 1, H, W) as one (H, wide), with a grey pixel between them, because their margins are white."""
    spaced = np.pad(images[:, 0], ((0, 0), (0, 0), (0, 1)), constant_values=GREY)
    return np.concatenate(list(spaced), axis=1)


def _wrapped(title: str, columns: int = 72) -> str:
    return textwrap.fill(title, columns)


def _png(figure: Figure, title: str, width: int) -> Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    return Image(data=buffer.getvalue(), format="png", width=width, alt=title)  # type: ignore[no-untyped-call]
