"""The audit of the ledger: an attack's lower bound on epsilon against what the ledger says."""

from collections.abc import Sequence

from experiments import figures
from experiments.comparison.rows import Measured
from experiments.report.averages import at, choices, is_number, mean, numbers
from experiments.report.chapter import Figure, Table
from experiments.report.chapters.draft import Album, Draft, Part
from experiments.report.chapters.words import missing, text_of

LEAD = (
    "A canary is put into training or left out, and the audit guesses which. From how often it is right follows a "
    "lower bound on epsilon: above what the ledger says, the ledger would be wrong."
)
NOTES = (
    "A bound below the ledger is no proof that the ledger is right: a stronger attack might come closer.",
    "The Gaussian bound is tighter, and holds for training that samples every example in every step.",
    "With the noise switched off the audit must break the claimed epsilon; where it does not, it has no power to see.",
)

Point = tuple[float, float]
"""The ledger's epsilon, and the audit's lower bound."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """The scatter and its table."""
    known = [cell for cell in cells if cell.find("lower_bound") and claimed(cell) is not None]
    parts: list[Part] = [missing("the audit", "rows `lower_bound`, and `epsilon` as a label or a row")]
    if known:
        parts = [picture(known, album), table(known)]
    return Draft("Audit of the ledger", LEAD, ("epsilon", "noise"), [*parts, *NOTES])


def claimed(cell: Measured) -> float | None:
    """What the ledger says: the row, or the label of the grid."""
    rows, label = cell.find("epsilon"), cell.labels.get("epsilon", "")
    return rows[0].value if rows else float(label) if is_number(label) else None


def points(cells: Sequence[Measured], measure: str) -> list[Point]:
    """A point a seed."""
    pairs = [(claimed(cell), row.value) for cell in cells for row in cell.find(measure)[:1]]
    return [(epsilon, bound) for epsilon, bound in pairs if epsilon is not None]


def by_noise(cells: Sequence[Measured]) -> dict[str, list[Point]]:
    """Points with the noise on, and off."""
    kinds = {f"noise {text_of(kind)}": at(cells, noise=kind) for kind in choices(cells, "noise")}
    found = {}
    for kind, there in (kinds or {"noise as configured": list(cells)}).items():
        found[kind] = points(there, "lower_bound")
        found[f"{kind}, Gaussian bound"] = points(there, "gaussian_lower_bound")
    return {kind: pairs for kind, pairs in found.items() if pairs}


def picture(cells: Sequence[Measured], album: Album) -> Figure:
    """Where the bounds lie, and where none may."""
    found = by_noise(cells)
    drawn, (axes,) = figures.panels(1, height=4.4)
    reach = 1.12 * max(0.1, *(value for kind in found.values() for point in kind for value in point))
    axes.fill_between([0, reach], [0, reach], [reach, reach], color=figures.PALE, linewidth=0,
                      label="would be a violation")  # fmt: skip
    axes.plot([0, reach], [0, reach], color=figures.GREY, linewidth=1.2)
    for index, (kind, pairs) in enumerate(found.items()):
        look = figures.look(index)
        axes.plot(aside(pairs, 0.012 * reach), [y for _, y in pairs], color=look.colour, marker=look.marker,
                  linestyle="none", markersize=8, label=kind, markeredgecolor="white", clip_on=False)  # fmt: skip
    axes.set_xlim(0, reach)
    axes.set_ylim(0, reach)
    axes.set_xlabel("epsilon of the ledger")
    figures.measured_in(axes, "lower bound on epsilon from the audit")
    figures.legend(drawn)
    return album.keep(drawn, "bounds", message=message(found), caption=caption(cells))


def aside(pairs: Sequence[Point], step: float) -> list[float]:
    """Points of one epsilon side by side, so that none hides another."""
    places = []
    for n, (x, _) in enumerate(pairs):
        others = [m for m, (other, _) in enumerate(pairs) if other == x]
        places.append(x + step * (others.index(n) - (len(others) - 1) / 2))
    return places


def caption(cells: Sequence[Measured]) -> str:
    """How strong the bounds are."""
    trials, confidence = numbers(cells, "trials"), numbers(cells, "confidence")
    words = f" {min(trials):,.0f} trials a point." if trials else ""
    words += f" Each bound holds with confidence {min(confidence):.0%}." if confidence else ""
    return f"A point is one seed; those of one epsilon stand side by side.{words}"


def message(found: dict[str, list[Point]]) -> str:
    """Whether anything lies where nothing may; and whether the audit would have seen it."""
    on = [pair for kind, pairs in found.items() if not kind.startswith("noise off") for pair in pairs]
    off = found.get("noise off", [])
    broken = [(x, y) for x, y in on if y > x]
    said = []
    if broken:
        x, y = max(broken, key=lambda pair: pair[1] - pair[0])
        said.append(f"{len(broken)} of {len(on)} lower bounds break the ledger: {y:.2f} against epsilon {x:.2f}")
    elif on:
        x, y = max(on, key=lambda pair: pair[1] / pair[0] if pair[0] else 0.0)
        said.append(f"None of {len(on)} lower bounds breaks the ledger: the nearest is {y:.2f} of epsilon {x:.2f}")
    if off:
        said.append(f"without noise {sum(y > x for x, y in off)} of {len(off)} do")
    return "; ".join(said)


def table(cells: Sequence[Measured]) -> Table:
    """Bounds by the ledger's epsilon."""
    rows = []
    axes = [axis for axis in ("epsilon", "noise") if choices(cells, axis)]
    for labels in dict.fromkeys(tuple(cell.labels.get(axis, "") for axis in axes) for cell in cells):
        there = at(cells, **dict(zip(axes, labels, strict=True)))
        bounds, ledger = (
            numbers(there, "lower_bound"),
            [epsilon for cell in there if (epsilon := claimed(cell)) is not None],
        )
        found = mean(bounds)
        shown = (f"{max(ledger):.2f}", found.text(2) if found else "", f"{max(bounds):.2f}", str(len(bounds)))
        rows.append((*map(text_of, labels), *shown))
    columns = (*axes, "ledger's epsilon", "lower bound", "largest bound", "seeds")
    return Table("Lower bounds, mean ± half the width of its 95 % confidence interval over seeds", columns, tuple(rows),
                 tuple(range(len(axes), len(columns))))  # fmt: skip
