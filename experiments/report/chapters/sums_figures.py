"""The pictures of the chapter on sums."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Measured
from siloseal.experiments.report.averages import a_silo, at, choices, numbers, totals
from siloseal.experiments.report.chapters.draft import Album
from siloseal.experiments.report.chapters.words import BYTES, missing, text_of
from siloseal.federation.job.phases import Phase
from siloseal.report import charts, wording
from siloseal.report.document import Figure
from siloseal.report.intervals import Mean, bands, mean
from siloseal.run_folder.metrics import phase_title

PHASES = ("enrolment", *Phase)

Pick = Callable[[Sequence[Measured]], list[float]]
"""Function that picks one number of each cell."""
Drawn = dict[str, dict[float, Mean]]
"""Drawn numbers, by scheme and by number of silos."""


def phases_of(cells: Sequence[Measured]) -> list[str]:
    """Return the phases in which bytes were counted."""
    stages = {row.stage for cell in cells for measure in BYTES for row in cell.find(measure)}
    return [phase for phase in PHASES if phase in stages]


def phases(cells: Sequence[Measured], album: Album) -> Figure:
    """Draw the bytes by phase, and their totals: shares stack, and totals need a logarithmic scale."""
    names = [text_of(scheme) for scheme in choices(cells, "sum")]
    of = {name: at(cells, sum=scheme) for name, scheme in zip(names, choices(cells, "sum"), strict=True)}
    by_phase = {
        phase: [sum(a_silo(of[name], BYTES, stage=phase)) / len(of[name]) for name in names]
        for phase in phases_of(cells)
    }
    everything = [sum(column) for column in zip(*by_phase.values(), strict=True)]
    picture, (left, right) = charts.panels(2, columns=2, height=1.7 + 0.32 * len(names))
    begin = [0.0] * len(names)
    for index, (phase, values) in enumerate(by_phase.items()):
        share = [100 * value / total if total else 0.0 for value, total in zip(values, everything, strict=True)]
        left.barh(range(len(names)), share, left=begin, height=0.66, color=charts.COLOURS[index], edgecolor="white",
                  hatch=charts.HATCHES[index], label=phase_title(phase))  # fmt: skip
        begin = [one + other for one, other in zip(begin, share, strict=True)]
    charts.name_rows(left, names)
    left.set_xlim(0, 100)
    left.set_xlabel("share of a silo's bytes (%)")
    found = {name: mean(a_silo_in_phases(of[name])) for name in names}
    rows_of_dots(right, found, "bytes of a silo", charts.look(0))
    charts.legend(picture)
    most, least = (pick(range(len(names)), key=everything.__getitem__) for pick in (max, min))
    message = (
        f"A silo's whole job takes {wording.size(everything[least])} with {names[least]} and "
        f"{wording.size(everything[most])} with {names[most]}, {everything[most] / everything[least]:.3g} times as much"
    )
    caption = (
        "Bytes that the mean silo sends and receives in a whole job: the share of each phase, and the total on a "
        f"logarithmic scale. In the later rounds models travel by the job's `tuning_sum`, which is plain unless "
        f"the job says otherwise. {bands(one for one in found.values() if one)}"
    )
    return album.keep(picture, "phases", message=message, caption=caption)


def a_silo_in_phases(cells: Sequence[Measured]) -> list[float]:
    """Return all bytes of the mean silo, of each cell; a row that totals the phases does not count twice."""
    return [sum(sum(a_silo([cell], BYTES, stage=phase)) for phase in PHASES) for cell in cells]


def rows_of_dots(axes: Axes, found: Mapping[str, Mean | None], label: str, look: charts.Look) -> None:
    """Draw a dot for each category, with its number beside it, on a logarithmic scale."""
    values = [one.value for one in found.values() if one and one.value > 0]
    unit, name = wording.byte_unit(max(values, default=0.0)) if "bytes" in label else (1.0, "")
    for place, one in enumerate(found.values()):
        if one is not None and one.value > 0:
            scaled = Mean(one.value / unit, None if one.half_width is None else one.half_width / unit, one.count)
            charts.dots(axes, [(place, scaled)], look, "", across=True)
            axes.annotate(f"{scaled.value:.3g}", (scaled.value, place), (8, 0), textcoords="offset points", va="center",
                          fontsize=9.5)  # fmt: skip
    charts.name_rows(axes, list(found))
    axes.set_yticklabels([])
    axes.tick_params(axis="y", length=0)
    if values:
        axes.set_xlim(min(values) / unit / 1.6, max(values) / unit * 4)
    charts.logarithmic(axes, "x")
    axes.set_xlabel(label.replace("bytes", name) if name else label)


def by_silos(axes: Axes, cells: Sequence[Measured], pick: Pick, label: str) -> Drawn:
    """Draw a curve for each scheme over the number of silos, both logarithmic, and return what was drawn."""
    drawn: Drawn = {}
    for index, scheme in enumerate(choices(cells, "sum")):
        points = {
            float(silos): found
            for silos in choices(cells, "silos")
            if (found := mean(pick(at(cells, sum=scheme, silos=silos)))) and found.value > 0
        }
        if points:
            charts.curve(axes, list(points.items()), charts.look(index), text_of(scheme))
            drawn[text_of(scheme)] = points
    charts.logarithmic(axes, "x")
    charts.ticks_at(axes.xaxis, [float(silos) for silos in choices(cells, "silos")])
    charts.logarithmic(axes, "y")
    axes.set_xlabel("silos (count)")
    charts.measured_in(axes, label)
    return drawn


def extremes(drawn: Drawn, write: Callable[[float], str]) -> tuple[int, str]:
    """Return the most silos that several schemes were measured with, and in words the least and the most there."""
    counts = [silos for points in drawn.values() for silos in points]
    most = max(counts, key=lambda silos: (counts.count(silos) > 1, silos))
    found = sorted(((points[most], name) for name, points in drawn.items() if most in points), key=by_value)
    ends = found[:1] if len(found) == 1 else [found[0], found[-1]]
    said = " and ".join(f"{write(one.value)} with {name}" for one, name in ends)
    overlap = ends[0][0].half_width is not None and not ends[0][0].apart(ends[-1][0]) and len(ends) > 1
    return int(most), said + (" (intervals overlap)" if overlap else "")


def by_value(item: tuple[Mean, str]) -> tuple[float, str]:
    """Return the value of a named number, for sorting."""
    return item[0].value, item[1]


def seeds_of(drawn: Drawn) -> str:
    """Say what the bands are."""
    return bands(one for points in drawn.values() for one in points.values())


def upload(cells: Sequence[Measured], album: Album) -> Figure | str:
    """Draw the bytes a parameter: in the round of the upload, and in all rounds, both ways."""
    parameters = numbers(cells, "parameters")
    entries, unit = (parameters[0], "bytes a parameter") if parameters else (1.0, "bytes")

    def largest(there: Sequence[Measured]) -> list[float]:
        rounds = {row.stage for cell in there for row in cell.find("sent_bytes")}
        means = [[sum(a_silo([cell], ["sent_bytes"], stage=name)) / entries for name in rounds] for cell in there]
        return [max(values) for values in means if values]

    def all_rounds(there: Sequence[Measured]) -> list[float]:
        return [value / entries for value in a_silo(there, BYTES)]

    picture, (left, right) = charts.panels(2, columns=2, height=3.9)
    drawn = by_silos(left, cells, largest, f"the upload\n({unit})")
    by_silos(right, cells, all_rounds, f"all rounds, both ways\n({unit})")
    if not drawn:
        return missing("bytes of an upload", "rows `sent_bytes` by round and silo")
    charts.legend(picture)
    silos, said = extremes(drawn, lambda value: f"{value:.3g} {unit}")
    caption = f"The mean silo's bytes in one sum, both axes logarithmic. {seeds_of(drawn)}"
    return album.keep(picture, "upload", message=f"Among {silos} silos an upload takes {said}", caption=caption)


def work(cells: Sequence[Measured], album: Album) -> Figure | str:
    """Draw the seconds of a silo and of the aggregator."""
    picture, (left, right) = charts.panels(2, columns=2, height=3.9)
    drawn = by_silos(left, cells, lambda there: totals(there, ["silo_seconds"]), "a silo's work (s)")
    by_silos(right, cells, lambda there: totals(there, ["aggregator_seconds"]), "the aggregator's work (s)")
    if not drawn:
        return missing("work", "rows `silo_seconds`")
    charts.legend(picture)
    silos, said = extremes(drawn, wording.duration)
    caption = f"Processor time of one sum, both axes logarithmic. {seeds_of(drawn)}"
    return album.keep(picture, "work", message=f"Among {silos} silos a sum takes a silo {said}", caption=caption)


def memory(cells: Sequence[Measured], album: Album) -> Figure | str:
    """Draw the peak memory of the process in which all parties sit."""
    picture, (axes,) = charts.panels(1, height=4.0)
    label = "peak memory beyond the start (MB)"
    drawn = by_silos(axes, cells, lambda there: [value / 1e6 for value in numbers(there, "peak_bytes")], label)
    if not drawn:
        return missing("memory", "rows `peak_bytes`")
    charts.legend(picture)
    silos, said = extremes(drawn, lambda value: wording.size(1e6 * value))
    caption = f"What the process of all parties grew by, both axes logarithmic. {seeds_of(drawn)}"
    return album.keep(
        picture, "memory", message=f"Among {silos} silos in one process a sum needs {said}", caption=caption
    )
