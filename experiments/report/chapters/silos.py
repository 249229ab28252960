"""The chapter on what federating gains a silo, by how many silos share the same data."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import accuracy, at, choices, chosen, headline, is_number, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, missing, text_of
from siloseal.report import charts
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

LEAD = (
    "The same images dealt to more and more silos: what the federation reaches, what the mean silo reaches alone, and "
    "what one place with all the images would."
)
NOTES = (
    "A silo alone trains at the same epsilon on its own images. Its accuracy is the mean over the silos that were "
    "measured, seed by seed: silos of one name hold other images under another seed.",
    "The test images are of all classes. Where silos lack some, as under label skew, a silo alone cannot name those, "
    "however well it learns: with half of the classes it names about half of the images at most.",
    "Pooled is a reference that the consortium cannot have: it needs all data in one place. Its steps take as many "
    "images as the comparison's file says, whatever the number of silos beside it.",
)
POOLED = "pooled"
KINDS = ("federation", "mean silo alone", POOLED)
GAIN = "gain by federating"
"""Gain of the federation over the mean silo, seed by seed: data and start, which both share, cancel."""

Kinds = dict[str, list[tuple[float, Mean]]]
"""Points over the number of silos, by kind of model."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: a panel for each way of dealing, and the table."""
    known = [cell for cell in cells if is_number(cell.labels.get("silos", "")) and cell.labels.get("data") != "pooled"]
    pooled = accuracy(at(cells, data="pooled"), "final")
    dealt = {
        data: found for data in choices(known, "data") or [""] if (found := curves(chosen(known, "data", data), pooled))
    }
    if not dealt:
        parts: list[Part] = [missing("federating", "labels `data` and `silos`, rows of accuracy")]
    else:
        absent = [kind for kind in KINDS if not any(kind in found for found in dealt.values())]
        parts = [picture(dealt, known, album), table(dealt), *(f"Not measured: {kind}." for kind in absent)]
    return Draft("How many silos", LEAD, ("data", "silos"), [*parts, *NOTES])


def alone(cells: Sequence[Measured]) -> Mean | None:
    """Return the accuracy of silos alone over seeds, each seed's silos averaged first."""
    return mean(numbers(cells, "accuracy", stage="silo_alone", detail=headline(cells)))


def gained(cells: Sequence[Measured]) -> Mean | None:
    """Return the gain over seeds, and over the silos that were measured."""
    pairs = [(accuracy([cell], "final"), alone([cell])) for cell in cells]
    return mean([together.value - single.value for together, single in pairs if together and single])


def curves(cells: Sequence[Measured], pooled: Mean | None) -> Kinds:
    """Return the curves that were measured. Pooled data may be a stage of these cells, or one cell for all of them."""
    found: Kinds = {}
    for silos in choices(cells, "silos"):
        there = at(cells, silos=silos)
        values = (accuracy(there, "final"), alone(there), accuracy(there, "pooled") or pooled, gained(there))
        for kind, one in zip((*KINDS, GAIN), values, strict=True):
            if one is not None:
                found.setdefault(kind, []).append((float(silos), one))
    return found


def picture(dealt: dict[Label, Kinds], cells: Sequence[Measured], album: Album) -> Figure:
    """Draw three curves a panel."""
    drawn, panels = charts.panels(len(dealt), columns=2, height=3.4, share=True)
    for (data, found), panel in zip(dealt.items(), panels, strict=True):
        draw_kinds(panel, found)
        charts.logarithmic(panel, "x")
        charts.ticks_at(panel.xaxis, [silos for points in found.values() for silos, _ in points])
        panel.set_xlabel("silos (count)")
        charts.measured_in(panel, ACCURACY, text_of(data))
    means = [one for found in dealt.values() for kind in KINDS for _, one in found.get(kind, [])]
    fitted = charts.fit_shares(panels, ends(means))
    charts.legend(drawn)
    caption = f"Accuracy of the {headline(cells)} classifier. {bands(means)}{measured_alone(cells)}{fitted}"
    return album.keep(drawn, "federating", message=message(dealt), caption=caption)


def draw_kinds(panel: Axes, found: Kinds) -> None:
    """Draw the curves; pooled data that were measured once, whatever the number of silos, are a level."""
    for index, kind in enumerate(KINDS):
        if kind == POOLED and len({one for _, one in found.get(kind, [])}) == 1:
            charts.level(panel, found[kind][0][1], charts.look(index), kind)
        elif kind in found:
            charts.curve(panel, found[kind], charts.look(index), kind)


def measured_alone(cells: Sequence[Measured]) -> str:
    """Return the number of silos that the mean silo is averaged over."""
    counts = sorted(
        {len({row.silo for row in rows}) for cell in cells if (rows := cell.find("accuracy", stage="silo_alone"))}
    )
    if not counts:
        return ""
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f" The mean silo alone is that of {number} silos of each seed."


def message(dealt: dict[Label, Kinds]) -> str:
    """Say what a silo gains where most silos share the data."""
    parts = []
    for data, found in dealt.items():
        where = f" ({text_of(data)})" if data != "" else ""
        if gains := found.get(GAIN):
            silos, gain = gains[-1]
            parts.append(f"{gain.value:+.2f}{margin(gain)} among {silos:g} silos{where}")
    if parts:
        return f"What federating adds to the mean silo's accuracy: {', '.join(parts)}"
    return "Accuracy by number of silos"


def margin(gain: Mean) -> str:
    """Return the interval of the gain, with a word where zero is within it."""
    if gain.half_width is None:
        return " (no interval)"
    return f" ± {gain.half_width:.2f}" + ("" if gain.low > 0 or gain.high < 0 else ", may be chance,")


def table(dealt: dict[Label, Kinds]) -> Table:
    """Return the table of all points."""
    rows = []
    for data, found in dealt.items():
        for silos in sorted({place for points in found.values() for place, _ in points}):
            values = [dict(found.get(kind, [])).get(silos) for kind in (*KINDS, GAIN)]
            rows.append((text_of(data), f"{silos:g}", *(one.text() if one else "not measured" for one in values)))
    means = (one for found in dealt.values() for points in found.values() for _, one in points)
    caption = averaged("Accuracy", means)
    return Table(caption, ("data", "silos", *KINDS, f"{GAIN}, seed by seed"), tuple(rows), (1, 2, 3, 4, 5))
