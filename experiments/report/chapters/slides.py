"""The traffic that slides on the published method reported, beside ours: ratios only, for nothing else compares."""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes

from experiments import figures
from experiments.report.chapter import Figure
from experiments.report.chapters.draft import Album
from siloseal import wording

OURS = "one encrypted sum, then DP tuning"
"""The scheme that this project is about, as comparisons name it."""


class Slide(NamedTuple):
    """Gigabytes as reported, and the scheme of ours that comes nearest to what theirs was compared with."""

    epochs: int
    ours: float
    other: float
    nearest: str


SLIDES = (Slide(250, 73, 211, "BatchCrypt every round"), Slide(100, 90, 1090, "BatchCrypt every round"))
"""Quoted from slides on Zheng et al. 2023. Not reproduced."""
REPORTED = " and ".join(str(slide.epochs) for slide in SLIDES)


def slides(formula: Mapping[str, Mapping[int, float]], model: str, album: Album) -> Figure | None:
    """How many times as much the other scheme takes: reported, and here."""
    here = [
        (slide, formula[slide.nearest][slide.epochs] / formula[OURS][slide.epochs])
        for slide in SLIDES
        if slide.epochs in formula.get(OURS, {}) and slide.epochs in formula.get(slide.nearest, {})
    ]
    if not here:
        return None
    picture, (axes,) = figures.panels(1, height=1.5 + 0.9 * len(here))
    for place, (slide, ratio) in enumerate(here):
        reported = slide.other / slide.ours
        axes.barh(place - 0.19, reported, height=0.34, color="#d9d9d9", edgecolor=figures.GREY, hatch="///",
                  label="reported in slides, not reproduced")  # fmt: skip
        beside(axes, reported, place - 0.19, f"{slide.other:,.0f} GB against {slide.ours:g} GB")
        axes.barh(place + 0.19, ratio, height=0.34, color=figures.COLOURS[0], label="this comparison, by formula")
        amounts = [wording.size(formula[scheme][slide.epochs]) for scheme in (slide.nearest, OURS)]
        beside(axes, ratio, place + 0.19, " against ".join(amounts))
    figures.name_rows(axes, [f"{slide.nearest}, {slide.epochs} epochs" for slide, _ in here], width=18)
    axes.set_xlim(0, 1.85 * max([slide.other / slide.ours for slide in SLIDES] + [ratio for _, ratio in here]))
    axes.set_xlabel("traffic (times ours, at the same number of epochs)")
    figures.legend(picture)
    said = "; ".join(
        f"{slide.nearest} takes {ratio:.3g} times our traffic at {slide.epochs} epochs (slides: "
        f"{slide.other / slide.ours:.2g})"
        for slide, ratio in here
    )
    reports = ", ".join(f"{one.ours:g} against {one.other:,.0f} GB at {one.epochs} epochs" for one, _ in here)
    caption = (f"Ours is by formula, for the model “{model}”. " if model else "") + (
        f"Hatched: reported in slides ({reports}), not reproduced; how they were counted is not known, so only ratios "
        "compare. "
        "The schemes named are ours that come nearest to what was compared there."
    )
    return album.keep(picture, "slides", message=said, caption=caption)


def beside(axes: Axes, ratio: float, place: float, amounts: str) -> None:
    """The number at the end of a bar."""
    axes.annotate(f"{ratio:.3g} times: {amounts}", (ratio, place), (5, 0), textcoords="offset points", va="center",
                  fontsize=9)  # fmt: skip
