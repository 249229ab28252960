"""The traffic that slides on the published method reported, beside ours: ratios only, because nothing else compares."""

from collections.abc import Mapping
from typing import NamedTuple

from matplotlib.axes import Axes

from siloseal.experiments.report.chapters.draft import Album
from siloseal.report import charts, wording
from siloseal.report.document import Figure

OURS = "one encrypted sum, then DP tuning"
"""The scheme that this project is about, as comparisons name it."""


class Slide(NamedTuple):
    """Gigabytes as reported, of theirs and of what theirs was compared with."""

    epochs: int
    ours: float
    other: float


SLIDES = (Slide(250, 73, 211), Slide(100, 90, 1090))
"""Numbers quoted from slides on Zheng et al. 2023. They are not reproduced."""
NEAREST = ("BatchCrypt every round", "BatchCrypt as published")
"""Our schemes that come nearest to what was compared there; how that was counted is not known, so both are shown."""
REPORTED = " and ".join(str(slide.epochs) for slide in SLIDES)
HEIGHT = 0.26  # of a bar


def slides(formula: Mapping[str, Mapping[int, float]], model: str, album: Album) -> Figure | None:
    """Draw how many times as much the other scheme takes: as reported, and here."""
    ours = formula.get(OURS, {})
    others = [scheme for scheme in NEAREST if scheme in formula]
    shown = [slide for slide in SLIDES if slide.epochs in ours and all(slide.epochs in formula[one] for one in others)]
    if not shown or not others:
        return None
    times = {
        (slide, scheme): formula[scheme][slide.epochs] / ours[slide.epochs] for slide in shown for scheme in others
    }
    picture, (axes,) = charts.panels(1, height=1.5 + 0.5 * len(shown) * (1 + len(others)))
    for place, slide in enumerate(shown):
        axes.barh(place - HEIGHT, slide.other / slide.ours, height=HEIGHT, color="#d9d9d9", edgecolor=charts.GREY,
                  hatch="///", label="reported in slides, not reproduced")  # fmt: skip
        beside(axes, slide.other / slide.ours, place - HEIGHT, f"{slide.other:,.0f} GB against {slide.ours:g} GB")
        for number, scheme in enumerate(others):
            ratio, at = times[slide, scheme], place + number * HEIGHT
            axes.barh(at, ratio, height=HEIGHT, color=charts.COLOURS[number], edgecolor="white",
                      label=f"{scheme}, by formula")  # fmt: skip
            beside(axes, ratio, at, " against ".join(wording.size(of[slide.epochs]) for of in (formula[scheme], ours)))
    charts.name_rows(axes, [f"{slide.epochs} epochs" for slide in shown], width=18)
    axes.set_xlim(0, 1.85 * max(*times.values(), *(slide.other / slide.ours for slide in SLIDES)))
    axes.set_xlabel("traffic (times ours, at the same number of epochs)")
    charts.legend(picture)
    said = "; ".join(
        f"at {slide.epochs} epochs "
        + ", ".join(f"{scheme} {times[slide, scheme]:.2f}" for scheme in others)
        + f" (slides: {slide.other / slide.ours:.1f})"
        for slide in shown
    )
    reports = ", ".join(f"{slide.ours:g} against {slide.other:,.0f} GB at {slide.epochs} epochs" for slide in shown)
    caption = (f"Ours is by formula, for the model “{model}”; nothing of it was measured. " if model else "") + (
        f"Hatched: reported in slides ({reports}), not reproduced; how they were counted is not known, so only ratios "
        "compare. The schemes named are ours that come nearest to what was compared there."
    )
    return album.keep(picture, "slides", message=f"Traffic, in times of ours: {said}", caption=caption)


def beside(axes: Axes, ratio: float, place: float, amounts: str) -> None:
    """Write the number at the end of a bar."""
    axes.annotate(f"{ratio:.2f} times: {amounts}", (ratio, place), (5, 0), textcoords="offset points", va="center",
                  fontsize=9)  # fmt: skip
