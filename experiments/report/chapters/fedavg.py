"""The chapter on federated averaging: rounds to a target accuracy by C, E and B, beside those of its paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import at, choices, chosen, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, missing, text_of
from siloseal.report import charts
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, ends, mean

LEAD = (
    "Federated averaging as its paper tries it (McMahan et al. 2017): a hundred silos, of which a round asks a part C, "
    "each taking E passes over its images in batches of B. What counts is the number of rounds to a target accuracy."
)
NOTES = (
    "Reported numbers are those of the paper's tables for its network with two hidden layers (2NN), target 0.97. The "
    "paper chose the step size for each cell by its result; here one step size serves all cells of a way of dealing "
    "and a batch, chosen on a part of the training images.",
    "A batch here is a Poisson sample of B images on average, as privacy needs it. The paper goes through the shuffled "
    "images. One pass has as many steps, but misses some images and meets others twice.",
    "Rounds are counted as in the paper: when the best accuracy so far crosses the target, between two rounds in "
    "proportion. A run ends at the target, or at the number of rounds that the comparison's file gives it.",
    "C = 0 stands for one silo a round. The paper's CNN (target 0.99) is not tried here.",
)
ALL = "all"
REPORTED: dict[tuple[str, str, str, str], float | None] = {
    ("IID", "0", "1", ALL): 1455, ("IID", "0.1", "1", ALL): 1474, ("IID", "0.2", "1", ALL): 1658,
    ("IID", "0", "1", "10"): 316, ("IID", "0.1", "1", "10"): 87, ("IID", "0.2", "1", "10"): 77,
    ("IID", "0.5", "1", "10"): 75, ("IID", "1", "1", "10"): 70,
    ("by class", "0", "1", ALL): 4278, ("by class", "0.1", "1", ALL): 1796, ("by class", "0.2", "1", ALL): 1528,
    ("by class", "0", "1", "10"): 3275, ("by class", "0.1", "1", "10"): 664, ("by class", "0.2", "1", "10"): 619,
    ("by class", "0.5", "1", "10"): 443, ("by class", "1", "1", "10"): 380,
    ("IID", "0.1", "20", ALL): 92, ("IID", "0.1", "10", ALL): 156, ("IID", "0.1", "10", "10"): 34,
    ("IID", "0.1", "20", "10"): 32, ("by class", "0.1", "20", ALL): 957, ("by class", "0.1", "10", ALL): 1100,
    ("by class", "0.1", "10", "10"): 497, ("by class", "0.1", "20", "10"): 738,
}  # fmt: skip
"""Rounds that the paper reports for its 2NN, by how data are dealt, C, E and B."""


@dataclass(frozen=True)
class Line:
    """One setting of C, E and B, and what was measured there."""

    data: Label
    fraction: str
    epochs: str
    batch: str
    accuracies: list[tuple[float, Mean]]
    rounds: Mean | None
    """Rounds to the target; None where it was not reached by every seed."""
    most: float
    """Number of rounds that were run."""

    @property
    def name(self) -> str:
        """Name of the line in figures and tables."""
        return f"C {self.fraction}, E {self.epochs}, B {self.batch}"

    @property
    def reported(self) -> float | None:
        """Rounds that the paper reports; None where it has no such cell."""
        return REPORTED.get((text_of(self.data), self.fraction, self.epochs, self.batch))


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: accuracy over rounds, and the table beside the paper's."""
    known = [cell for cell in cells if {"data", "C", "E", "B"} <= cell.labels.keys() and cell.find("rounds")]
    lines = [line for data in choices(known, "data") for line in lines_of(chosen(known, "data", data), data)]
    if not any(line.accuracies for line in lines) or not numbers(known, "target"):
        parts: list[Part] = [missing("rounds", "cells of kind `rounds` with labels `data`, `C`, `E` and `B`")]
    else:
        parts = [picture(lines, known, album), table(lines, known), claims(lines)]
    return Draft("Rounds of federated averaging", LEAD, ("data", "C", "E", "B"), [*parts, *NOTES])


def lines_of(cells: Sequence[Measured], data: Label) -> list[Line]:
    """Return the settings of one way of dealing that were measured, in the order of the file."""
    settings = dict.fromkeys(tuple(cell.labels[axis] for axis in "CEB") for cell in cells)
    found = []
    for fraction, epochs, batch in settings:
        there = at(cells, C=fraction, E=epochs, B=batch)
        reached = numbers(there, "rounds_to_target")
        rounds = mean(reached) if len(reached) == len(there) else None
        found.append(
            Line(
                data,
                text_of(fraction),
                text_of(epochs),
                text_of(batch),
                accuracies=over_rounds(there),
                rounds=rounds,
                most=max(numbers(there, "rounds")),
            )
        )
    return found


def over_rounds(cells: Sequence[Measured]) -> list[tuple[float, Mean]]:
    """Return the mean accuracy after each round, as far as every seed ran."""
    most = int(min(numbers(cells, "rounds")))
    stages = [(number, f"round_{number}") for number in range(1, most + 1)]
    return [(float(number), one) for number, stage in stages if (one := mean(numbers(cells, "accuracy", stage=stage)))]


def picture(lines: Sequence[Line], cells: Sequence[Measured], album: Album) -> Figure:
    """Draw accuracy over rounds, a panel for each way of dealing."""
    dealt = list(dict.fromkeys(line.data for line in lines))
    drawn, panels = charts.panels(len(dealt), columns=2, height=3.8, share=True)
    names = list(dict.fromkeys(line.name for line in lines))
    for data, panel in zip(dealt, panels, strict=True):
        for line in (line for line in lines if line.data == data):
            shown = charts.look(names.index(line.name))
            panel.plot(*zip(*((x, one.value) for x, one in line.accuracies), strict=True), color=shown.colour,
                       linestyle=shown.dash, label=line.name)  # fmt: skip
        panel.axhline(target(cells), color=charts.GREY, linewidth=1)
        charts.logarithmic(panel, "x")
        panel.set_xlabel("rounds (count)")
        charts.measured_in(panel, ACCURACY, text_of(data))
    fitted = charts.fit_shares(
        panels, ends(one for line in lines for _, one in line.accuracies[len(line.accuracies) // 3 :])
    )
    charts.legend(drawn)
    caption = f"Accuracy on test images after each round; the grey line is the target of {target(cells):g}.{fitted}"
    return album.keep(drawn, "rounds", message=message(lines), caption=caption)


def target(cells: Sequence[Measured]) -> float:
    """Return the target of these cells."""
    return max(numbers(cells, "target"))


def message(lines: Sequence[Line]) -> str:
    """Name the setting with the fewest rounds, of each way of dealing."""
    parts = []
    for data in dict.fromkeys(line.data for line in lines):
        reached = {line.name: line.rounds.value for line in lines if line.data == data and line.rounds}
        if reached:
            best = min(reached, key=lambda name: reached[name])
            parts.append(f"{reached[best]:.0f} ({text_of(data)}; {best})")
        else:
            parts.append(f"none that reach it ({text_of(data)})")
    return f"Fewest rounds to the target: {', '.join(parts)}"


def table(lines: Sequence[Line], cells: Sequence[Measured]) -> Table:
    """Return the rounds measured, beside those that the paper reports."""
    rows = tuple(
        (
            text_of(line.data), line.fraction, line.epochs, line.batch,
            f"not in {line.most:g} rounds" if line.rounds is None else line.rounds.text(0),
            "no such cell" if line.reported is None else f"{line.reported:g}",
            f"{line.accuracies[-1][1].value:.3f}" if line.accuracies else "not measured",
        )
        for line in lines
    )  # fmt: skip
    caption = averaged(f"Rounds to {target(cells):g}", (line.rounds for line in lines if line.rounds))
    columns = ("data", "C", "E", "B", "measured", "reported", "last accuracy")
    return Table(caption, columns, rows, (1, 2, 3, 4, 5, 6))


def claims(lines: Sequence[Line]) -> Table:
    """Return what the paper concludes, and the measured numbers that speak for or against it."""
    rows = (
        ("more silos a round (C) save rounds, with small batches", versus(lines, "fraction")),
        ("more passes (E) save rounds", versus(lines, "epochs")),
        ("smaller batches (B) save rounds", versus(lines, "batch")),
        ("silos with two classes each need many more rounds", skewed(lines)),
    )
    return Table("What the paper concludes, and what is found here", ("conclusion", "here"), rows, ())


def versus(lines: Sequence[Line], axis: str) -> str:
    """Return the settings that differ in one axis alone, with their rounds."""
    groups = dict[tuple[object, ...], list[Line]]()
    for line in lines:
        others = tuple(getattr(line, one) for one in ("data", "fraction", "epochs", "batch") if one != axis)
        groups.setdefault(others, []).append(line)
    short = {"fraction": "C", "epochs": "E", "batch": "B"}[axis]
    parts = [
        f"{text_of(of[0].data)}: " + ", ".join(f"{short} {getattr(line, axis)} {rounds_text(line)}" for line in of)
        for of in groups.values()
        if len(of) > 1
    ]
    return "; ".join(parts) or "not measured"


def skewed(lines: Sequence[Line]) -> str:
    """Return the settings that were measured for more than one way of dealing."""
    names = dict.fromkeys(line.name for line in lines)
    parts = []
    for name in names:
        of = [line for line in lines if line.name == name]
        if len(of) > 1:
            parts.append(f"{name}: " + ", ".join(f"{text_of(line.data)} {rounds_text(line)}" for line in of))
    return "; ".join(parts) or "not measured"


def rounds_text(line: Line) -> str:
    """Return the rounds to the target in a few words."""
    return f"more than {line.most:g}" if line.rounds is None else f"{line.rounds.value:.0f}"
