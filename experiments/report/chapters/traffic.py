"""One encrypted sum and then cheap rounds, against cryptography in every round: bytes over epochs."""

from collections.abc import Sequence

import numpy as np

from siloseal.experiments.comparison.rows import Measured
from siloseal.experiments.report.averages import accuracy, at, choices, chosen, is_number
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.slides import REPORTED, slides
from siloseal.experiments.report.chapters.traffic_figures import Counted, Formula, growth, quality
from siloseal.experiments.report.chapters.words import BYTES, missing, text_of
from siloseal.federation.sums.plain.plain_sum import PlainSum
from siloseal.report import wording
from siloseal.report.document import Table
from siloseal.report.intervals import mean

PROTOTYPE = "published prototype"
"""The model that the slides' figures are set beside, where a grid has it."""
LEAD = (
    "Cryptography once, and differential privacy afterwards, against encrypting every round: all bytes that all silos "
    "send and receive, over the number of epochs."
)
NOTES = (
    "Filled markers are bytes that runs counted. Dashed lines extend them by the formula of each scheme: what a round "
    "costs times the rounds, plus what is paid once.",
    "The schemes do not protect alike: in a round by the plain sum the aggregator learns "
    f"{PlainSum.exposure.aggregator_learns}, which differential privacy alone protects. With one encrypted sum these "
    "are all rounds but the first.",
    "The figures from the slides are quoted as they were reported. How they were counted is not known, so they were "
    "not reproduced, and only their ratios can be set beside ours.",
)


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: pictures for each model, the slides, and a table."""
    known = [cell for cell in cells if "scheme" in cell.labels]
    models = {text_of(model): chosen(known, "model", model) for model in choices(known, "model") or [""]}
    formulas = {model: predicted(there) for model, there in models.items()}
    counts = {model: measured(there) for model, there in models.items()}
    parts: list[Part] = [
        growth(formulas[model], counts[model], model, album) for model in models if formulas[model] or counts[model]
    ] or [missing("traffic", "labels `scheme` and `rounds`, rows of bytes or `predicted_bytes`")]
    beside = PROTOTYPE if PROTOTYPE in models else next(iter(models))
    parts.append(slides(formulas[beside], beside, album)
                 or missing("the slides' figures beside ours", f"`predicted_bytes` at {REPORTED} epochs"))  # fmt: skip
    drawn = [found for model, there in models.items() if (found := quality(there, all_bytes, model, album))]
    parts += drawn or [missing("accuracy against traffic", "rows of final accuracy and bytes")]
    parts += [table(formulas, counts, models)] if any(counts.values()) else []
    return Draft("Traffic over epochs", LEAD, ("scheme", "rounds", "model"), [*parts, *NOTES])


def predicted(cells: Sequence[Measured]) -> Formula:
    """Return what the formulas say for every epoch up to the last: they are linear, so what is between is known."""
    found: dict[str, dict[int, float]] = {}
    for cell in cells:
        for row in cell.find("predicted_bytes"):
            epoch = row.stage.removeprefix("round").strip(" _")
            if epoch.isdigit():
                found.setdefault(text_of(cell.labels["scheme"]), {}).setdefault(int(epoch), row.value)
    return {scheme: filled(epochs) for scheme, epochs in found.items()}


def filled(epochs: dict[int, float]) -> dict[int, float]:
    """Return the bytes at all epochs between the first and the last."""
    known = sorted(epochs)
    every = range(known[0], known[-1] + 1)
    values = np.interp(every, known, [epochs[epoch] for epoch in known])
    return dict(zip(every, map(float, values), strict=True))


def measured(cells: Sequence[Measured]) -> Counted:
    """Return the bytes that runs counted, by their number of rounds."""
    found: Counted = {}
    for scheme in choices(cells, "scheme"):
        for rounds in choices(at(cells, scheme=scheme), "rounds"):
            total = mean(all_bytes(at(cells, scheme=scheme, rounds=rounds)))
            if total is not None and is_number(rounds):
                found.setdefault(text_of(scheme), []).append((float(rounds), total))
    return found


def all_bytes(cells: Sequence[Measured]) -> list[float]:
    """Return the bytes of all silos in all phases, both ways; a row that totals the phases does not count twice."""
    counts = []
    for cell in cells:
        rows = [row for measure in BYTES for row in cell.find(measure)]
        parts = [row.value for row in rows if row.stage != "total"] or [row.value for row in rows]
        counts += [sum(parts)] if parts else []
    return counts


def table(formulas: dict[str, Formula], counts: dict[str, Counted], cells: dict[str, list[Measured]]) -> Table:
    """Return the table of counted and computed bytes at the same number of rounds, and of what the bytes bought."""
    rows = []
    for model, counted in counts.items():
        for scheme, points in counted.items():
            for rounds, one in points:
                computed = formulas[model].get(scheme, {}).get(int(rounds))
                ratio = (wording.size(computed), f"{one.value / computed:.3f}") if computed else ("no formula", "")
                reached = accuracy(at(cells[model], scheme=scheme, rounds=rounds), "final")
                bought = reached.text() if reached else "not measured"
                rows.append((scheme, model, f"{rounds:g}", wording.size(one.value), *ratio, bought))
    columns = ("scheme", "model", "rounds", "counted", "by formula", "counted / formula", "accuracy")
    return Table("What runs counted, and what the formula says of them", columns, tuple(rows), (2, 3, 4, 5, 6))
