"""The audit of the ledger: an attack's lower bound on epsilon against what the ledger says."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import at, choices, is_number, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import missing, text_of
from siloseal.report import charts, wording
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, mean

LEAD = (
    "In each step of the real trainer a coin decides whether a canary is in the data, and an attacker who knows all "
    "but the coin and the noise guesses. From how often it is right follows a lower bound on epsilon, and an exact "
    "test of what the ledger books for the step. Silos with a planted flaw show what the audit can see."
)
NOTES = (
    "A flaw is found where the audit says broken, which is false once in a million audits: by the guesses, or by the "
    "noise as it was measured. Where a planted flaw is not found, the audit would not have found it in the sound silo "
    "either.",
    "The test of the guesses takes nothing for granted about the noise. The lower bound speaks of all booked steps "
    "together, and takes for granted that their noise is normal and their samples are as booked.",
    "A bound of 1000 stands for any larger one: guesses are right more often than steps with any noise would allow.",
    "A bound below the ledger is no proof that the ledger is right. No audit proves privacy.",
)
SOUND, FLAW, TRAINING = "none", "flaw", "training"
BROKEN = "broken"
SHOWN_ABOVE = 2.0
"""Bounds of flawed silos are drawn up to this many times the largest epsilon of a ledger, and there at the edge."""

Point = tuple[float, float]
"""The ledger's epsilon, and the audit's lower bound."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: a panel for each way of training, and the table."""
    known = [cell for cell in cells if cell.find("lower_bound") and claimed(cell) is not None]
    parts: list[Part] = [missing("the audit", "rows `lower_bound`, and `epsilon` as a label or a row")]
    if known:
        parts = [picture(known, album), table(known)]
    return Draft("Audit of the ledger", LEAD, ("epsilon", FLAW, TRAINING), [*parts, *NOTES])


def claimed(cell: Measured) -> float | None:
    """Return the ledger's epsilon: the row, or the label of the grid."""
    rows, label = cell.find("epsilon"), cell.labels.get("epsilon", "")
    return rows[0].value if rows else float(label) if is_number(label) else None


def points(cells: Sequence[Measured]) -> list[Point]:
    """Return one point a seed."""
    pairs = [(claimed(cell), row.value) for cell in cells for row in cell.find("lower_bound")[:1]]
    return [(epsilon, bound) for epsilon, bound in pairs if epsilon is not None]


def sound(cells: Sequence[Measured]) -> list[Measured]:
    """Return the cells without a planted flaw."""
    return [cell for cell in cells if cell.labels.get(FLAW, SOUND) == SOUND]


def flawed(cells: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Return the cells with a planted flaw, by flaw."""
    return {text_of(flaw): at(cells, flaw=flaw) for flaw in choices(cells, FLAW) if flaw != SOUND}


def found_broken(cells: Sequence[Measured]) -> int:
    """Number of cells that the audit called broken."""
    return sum(row.value == 1 for cell in cells for row in cell.find(BROKEN)[:1])


def series(cells: Sequence[Measured]) -> dict[str, list[Point]]:
    """Return what is drawn: the sound silo, and every flaw."""
    found = {"sound silo": points(sound(cells))}
    return found | {f"planted: {flaw}": points(there) for flaw, there in flawed(cells).items()}


def picture(cells: Sequence[Measured], album: Album) -> Figure:
    """Draw where the bounds lie, and where none of a sound silo may."""
    trainings: list[Label] = choices(cells, TRAINING) or [""]
    drawn, panels = charts.panels(len(trainings), columns=2, height=4.4)
    kinds = list(series(cells))
    for training, axes in zip(trainings, panels, strict=True):
        scatter(axes, series(at(cells, training=training) if training else cells), kinds)
        charts.measured_in(axes, "lower bound on epsilon from the audit", text_of(training))
    charts.legend(drawn)
    return album.keep(drawn, "bounds", message=message(cells), caption=caption(cells))


def scatter(axes: Axes, found: dict[str, list[Point]], kinds: Sequence[str]) -> None:
    """Draw the points of one panel, each kind with the look of its place among all."""
    widest = max(0.1, *(x for pairs in found.values() for x, _ in pairs))
    highest = max(widest, *(y for pairs in found.values() for _, y in pairs))
    reach = 1.12 * min(highest, SHOWN_ABOVE * widest)
    axes.fill_between([0, reach], [0, reach], reach, color=charts.PALE, linewidth=0, label="above the ledger")
    axes.plot([0, reach], [0, reach], color=charts.GREY, linewidth=1.2)
    for kind, pairs in found.items():
        look = charts.look(kinds.index(kind))
        if pairs:
            shown = [min(y, reach) for _, y in pairs]
            axes.plot(aside(pairs, 0.012 * reach), shown, color=look.colour, marker=look.marker,
                      linestyle="none", markersize=8, label=kind, markeredgecolor="white", clip_on=False)  # fmt: skip
    axes.set_xlim(0, reach)
    axes.set_ylim(0, reach)
    axes.set_xlabel("epsilon of the ledger")


def aside(pairs: Sequence[Point], step: float) -> list[float]:
    """Return points of one epsilon side by side, so that none hides another."""
    places = []
    for n, (x, _) in enumerate(pairs):
        others = [m for m, (other, _) in enumerate(pairs) if other == x]
        places.append(x + step * (others.index(n) - (len(others) - 1) / 2))
    return places


def caption(cells: Sequence[Measured]) -> str:
    """Say how strong the bounds are, each alone and those of sound silos together (Bonferroni)."""
    words = "A point is one seed; those of one epsilon stand side by side, and larger bounds at the upper edge."
    if steps := numbers(cells, "steps"):
        least, most = f"{min(steps):,.0f}", f"{max(steps):,.0f}"
        words += f" {least if least == most else f'{least} to {most}'} steps a point."
    if delta := numbers(cells, "delta"):
        words += f" Epsilons are at delta {wording.delta(max(delta))}."
    if confidence := numbers(cells, "confidence"):
        risk, count = 1 - min(confidence), len(points(sound(cells)))
        words += f" Each bound holds with confidence {wording.plain(round(100 * (1 - risk), 6))} %"
        words += f"; of {count} on sound silos at most {wording.plain(round(count * risk, 6))} are wrong on average."
    return words


def message(cells: Sequence[Measured]) -> str:
    """Say whether anything lies where nothing may, and which flaws the audit would have seen."""
    said, bounds = list[str](), points(sound(cells))
    if broken := [(x, y) for x, y in bounds if y > x]:
        x, y = max(broken, key=lambda pair: pair[1] - pair[0])
        said.append(f"{len(broken)} of {len(bounds)} lower bounds break the ledger: {y:.2f} over epsilon {x:.2f}")
    elif bounds:
        x, y = max(bounds, key=lambda pair: pair[1] / pair[0] if pair[0] else 0.0)
        said.append(
            f"None of {len(bounds)} lower bounds breaks the ledger: the nearest is {y:.2f} under epsilon {x:.2f}"
        )
    if wrongly := found_broken(sound(cells)):
        said.append(f"{wrongly} of {len(sound(cells))} sound silos are called broken")
    if planted := flawed(cells):
        counts = (f"{flaw} in {found_broken(there)} of {len(there)}" for flaw, there in planted.items())
        said.append(f"planted flaws found: {', '.join(counts)}")
    return "; ".join(said)


def table(cells: Sequence[Measured]) -> Table:
    """Return the table of bounds by the ledger's epsilon."""
    axes = [axis for axis in (TRAINING, "epsilon", FLAW) if choices(cells, axis)]
    rows, means = [], list[Mean]()
    for labels in dict.fromkeys(tuple(cell.labels.get(axis, "") for axis in axes) for cell in cells):
        there = at(cells, **dict(zip(axes, labels, strict=True)))
        bounds, ledger = numbers(there, "lower_bound"), [x for x, _ in points(there)]
        found = mean(bounds)
        means += [one for one in (found,) if one]
        broken = f"{found_broken(there)} of {len(there)}"
        shown = (found.text(2) if found else "", f"{max(bounds):.2f}", broken)
        rows.append((*map(text_of, labels), f"{max(ledger):.2f}", *shown))
    columns = (*axes, "ledger's epsilon", "lower bound", "largest bound", "called broken")
    return Table(averaged("Lower bounds", means), columns, tuple(rows), tuple(range(len(axes), len(columns))))
