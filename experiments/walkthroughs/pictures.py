"""The pictures of the notebooks, as PNG with a text for whoever cannot see them.

They are drawn with the chart engine of the reports. A cell shows what its last expression returns.
"""

import io
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from IPython.display import Image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from siloseal.report import charts
from siloseal.report.intervals import Mean

DOTS_PER_INCH = 160
SHOWN_PER_INCH = 100
"""Number of pixels of a notebook's page that an inch of a picture takes."""
PAPER_GREY = 60
"""Brightness of the line between two images, of 255."""

Points = tuple[Sequence[float], Sequence[float | None]]


def lines(
    series: Mapping[str, Points], *, title: str, x: str, y: str, log_x: bool = False, log_y: bool = False
) -> Image:
    """Draw a line for each name; points that could not be reached (None) are left out."""
    with charts.style():
        picture, (axes,) = charts.panels(1, height=3.8)
        for number, (name, (across, up)) in enumerate(series.items()):
            points = [(a, Mean(u, None, 1)) for a, u in zip(across, up, strict=True) if u is not None]
            charts.curve(axes, points, charts.look(number), name)
        axes.set_xlabel(x)
        charts.measured_in(axes, y)
        if log_x:
            charts.logarithmic(axes, "x")
        if log_y:
            charts.logarithmic(axes, "y")
        charts.legend(picture)
        return _image(picture, title)


def bars(values: Mapping[str, float], *, title: str, y: str, x: str = "", digits: int = 2) -> Image:
    """Draw a bar for each name, from zero, with its value on top."""
    with charts.style():
        picture, (axes,) = charts.panels(1, height=3.4)
        drawn = axes.bar(list(values), list(values.values()), color=charts.COLOURS[0])
        axes.bar_label(drawn, fmt=f"%.{digits}f", padding=2)
        axes.set_xlabel(x)
        charts.measured_in(axes, y)
        axes.margins(y=0.15)
        axes.grid(visible=False, axis="x")
        axes.tick_params(axis="x", rotation=20 if max(map(len, values)) > 9 else 0)
        return _image(picture, title)


def histograms(values: Mapping[str, NDArray[np.int64]], *, title: str, x: str, largest: int) -> Image:
    """Draw how often each integer from 0 to `largest` comes, one panel for each name."""
    with charts.style():
        picture, panels = charts.panels(len(values), columns=len(values), height=2.8, share=True)
        for number, (axes, (name, found)) in enumerate(zip(panels, values.items(), strict=True)):
            counts = np.bincount(found, minlength=largest + 1)
            axes.bar(range(largest + 1), counts, color=charts.look(number).colour)
            axes.set(xlabel=x, title=name)
        panels[0].set_ylabel("entries")
        return _image(picture, title)


def image_rows(rows: Mapping[str, NDArray[np.uint8]], *, title: str) -> Image:
    """Draw a row of images (N, 1, H, W) for each name, all of one size."""
    with charts.style():
        picture, panels = charts.panels(len(rows), height=0.62 + 0.45 / len(rows))
        for axes, (name, images) in zip(panels, rows.items(), strict=True):
            _show_image(axes, _side_by_side(images))
            axes.set_ylabel(name, rotation=0, ha="right", va="center")
        return _image(picture, title)


def named_images(images: NDArray[np.uint8], names: Sequence[str], wrong: Collection[int], *, title: str) -> Image:
    """Draw images (N, 1, H, W) with a name below each, those that are wrong in another colour and with a cross."""
    with charts.style():
        picture, panels = charts.panels(len(images), columns=len(images), height=1.45)
        for number, (axes, image, name) in enumerate(zip(panels, images, names, strict=True)):
            _show_image(axes, image[0])
            axes.set_xlabel(f"{name} ✗" if number in wrong else name, color=charts.COLOURS[number in wrong])
        return _image(picture, title)


def ring(neighbours: Mapping[str, Collection[str]], chosen: str, *, title: str) -> Image:
    """Draw the silos in the order of their ring, and one of them with its neighbours."""
    order = ring_order(neighbours)
    angles = 2 * np.pi * np.arange(len(order)) / len(order)
    places = {silo: (float(np.cos(angle)), float(np.sin(angle))) for silo, angle in zip(order, angles, strict=True)}
    silos, one = charts.COLOURS[:2]
    with charts.style():
        picture, (axes,) = charts.panels(1, height=4.6, width=4.6)
        for other in neighbours[chosen]:
            axes.plot(*zip(places[chosen], places[other], strict=True), color=one, linewidth=0.8)
        axes.scatter([x for x, _ in places.values()], [y for _, y in places.values()], s=14, color=silos, zorder=2)
        axes.scatter([places[chosen][0]], [places[chosen][1]], s=60, color=one, zorder=3)
        axes.set_axis_off()
        axes.set_aspect("equal")
        return _image(picture, title)


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


def _show_image(axes: Axes, image: NDArray[np.uint8]) -> None:
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=255)
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)


def _side_by_side(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return images (N, 1, H, W) as one (H, wide), with a grey pixel between them, because their margins are white."""
    spaced = np.pad(images[:, 0], ((0, 0), (0, 0), (0, 1)), constant_values=PAPER_GREY)
    return np.concatenate(list(spaced), axis=1)


def _image(picture: Figure, title: str) -> Image:
    """The picture with its title over it. Call it in the style that it was drawn in."""
    charts.lay_out(picture, title)
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
    width = round(SHOWN_PER_INCH * picture.get_figwidth())
    return Image(data=buffer.getvalue(), format="png", width=width, alt=title)  # type: ignore[no-untyped-call]
