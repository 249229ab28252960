"""What federating is worth to a silo, by how many silos share the same data."""

from collections.abc import Sequence

from experiments import figures
from experiments.comparison.rows import Label, Measured
from experiments.report.averages import Mean, accuracy, at, bands, choices, chosen, headline, is_number, mean, numbers
from experiments.report.chapter import Figure, Table
from experiments.report.chapters.draft import Album, Draft, Part
from experiments.report.chapters.words import ACCURACY, doubt, missing, text_of

LEAD = (
    "The same images dealt to more and more silos: what the federation reaches, what the mean silo reaches alone, and "
    "what one place with all the images would."
)
NOTES = (
    "A silo alone trains at the same epsilon on its own images. Its accuracy is the mean over the silos that were "
    "measured, seed by seed: silos of one name hold other images under another seed.",
    "Pooled is a reference that the consortium cannot have: it needs all data in one place.",
)
KINDS = ("federation", "mean silo alone", "pooled")

Kinds = dict[str, list[tuple[float, Mean]]]
"""By kind of model: points over the number of silos."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """A panel a way of dealing, and the table."""
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
    """Over seeds, the silos of each of them averaged first."""
    return mean(numbers(cells, "accuracy", stage="silo_alone", detail=headline(cells)))


def curves(cells: Sequence[Measured], pooled: Mean | None) -> Kinds:
    """What is there of the three. Pooled data may be a stage of these cells, or a cell of its own for all of them."""
    found: Kinds = {}
    for silos in choices(cells, "silos"):
        there = at(cells, silos=silos)
        for kind, one in zip(
            KINDS, (accuracy(there, "final"), alone(there), accuracy(there, "pooled") or pooled), strict=True
        ):
            if one is not None:
                found.setdefault(kind, []).append((float(silos), one))
    return found


def picture(dealt: dict[Label, Kinds], cells: Sequence[Measured], album: Album) -> Figure:
    """Three curves a panel."""
    drawn, panels = figures.panels(len(dealt), columns=2, height=3.4, share=True)
    for (data, found), panel in zip(dealt.items(), panels, strict=True):
        for index, kind in enumerate(KINDS):
            if kind in found:
                figures.curve(panel, found[kind], figures.look(index), kind)
        figures.logarithmic(panel, "x")
        figures.ticks_at(panel.xaxis, [silos for points in found.values() for silos, _ in points])
        panel.set_xlabel("silos (count)")
        figures.measured_in(panel, ACCURACY, text_of(data))
    figures.legend(drawn)
    means = [one for found in dealt.values() for points in found.values() for _, one in points]
    caption = f"Accuracy of the {headline(cells)} classifier. {bands(means)}"
    return album.keep(drawn, "federating", message=message(dealt), caption=caption)


def message(dealt: dict[Label, Kinds]) -> str:
    """What a silo gains where most silos share the data."""
    parts = []
    for data, found in dealt.items():
        together, single = dict(found.get("federation", [])), dict(found.get("mean silo alone", []))
        shared = sorted(together.keys() & single.keys())
        where = f" ({text_of(data)})" if data != "" else ""
        if shared:
            silos = shared[-1]
            gain = together[silos].value - single[silos].value
            parts.append(f"{gain:+.2f} among {silos:g} silos{where}{doubt(together[silos], single[silos])}")
    if parts:
        return f"What federating changes in the mean silo's accuracy: {', '.join(parts)}"
    return "Accuracy by number of silos"


def table(dealt: dict[Label, Kinds]) -> Table:
    """All points."""
    rows = []
    for data, found in dealt.items():
        for silos in sorted({place for points in found.values() for place, _ in points}):
            values = [dict(found.get(kind, [])).get(silos) for kind in KINDS]
            rows.append((text_of(data), f"{silos:g}", *(one.text() if one else "not measured" for one in values)))
    caption = "Accuracy, mean ± half the width of its 95 % confidence interval over seeds"
    return Table(caption, ("data", "silos", *KINDS), tuple(rows), (1, 2, 3, 4))
