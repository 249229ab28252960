"""What a cheating aggregator learns from each sum, cheat by cheat, tried against the real silos' sides."""

import textwrap
from collections.abc import Sequence

from matplotlib.patches import Rectangle

from experiments import figures
from experiments.comparison.rows import Measured, Row
from experiments.report.averages import at, choices
from experiments.report.chapter import Figure, Table
from experiments.report.chapters.draft import Album, Draft, Part
from experiments.report.chapters.words import missing, text_of

LEAD = (
    "An aggregator that looks, computes and lies, tried against real silos: whether it learns a single silo's vector, "
    "or is refused."
)
NOTES = (
    "Learnt: a silo's vector, or how it changed between two sessions, came out in the aggregator's hands. Refused: in "
    "every way that was tried silos refused, and nothing came out. Harmless: enough silos answered, and what came of "
    "it is not a silo's vector. Does not apply: there was nothing to send, or nothing to compute from.",
    "Two sessions, one of them without the victim, are no lie that a sum could notice: their difference tells the "
    "vector. Against that stand the silo's runtime, its policy, and the noise in what is summed, which are not here.",
    "These are the cheats that were thought of. A matrix without a single learnt is no proof.",
)
LEARNT, REFUSED, HARMLESS, NOT_APPLICABLE = "learnt", "refused", "harmless", "does not apply"
FILLS = {
    LEARNT: ("#f0a58a", "///"),
    REFUSED: ("#bfe3d6", ""),
    HARMLESS: ("#d9edf7", ""),
    NOT_APPLICABLE: ("#f2f2f2", ""),
}
NOT_LEARNT = "not learnt"
SECOND = "two sessions"
MIXED = ("#f6d9a8", "...")

Outcomes = dict[str, dict[str, str]]
"""By sum, by cheat: a word."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """The matrix, and the same in words."""
    found = outcomes([cell for cell in cells if "sum" in cell.labels])
    parts: list[Part] = [missing("the matrix", "cells with label `sum` and rows `learnt`, a cheat in each `detail`")]
    if found:
        parts = [picture(found, album), table(found)]
    return Draft("A cheating aggregator", LEAD, ("sum",), [*parts, *NOTES])


def outcomes(cells: Sequence[Measured]) -> Outcomes:
    """What came of every cheat; over seeds that differ, how often it worked."""
    cheats = dict.fromkeys(row.detail for cell in cells for row in cell.find("learnt"))
    found: Outcomes = {}
    for scheme in choices(cells, "sum"):
        for cheat in cheats:
            tried = [row for cell in at(cells, sum=scheme) for row in cell.find("learnt", detail=cheat)]
            if tried:
                found.setdefault(text_of(scheme), {})[cheat.replace("_", " ")] = word(tried)
    return found


def word(tried: Sequence[Row]) -> str:
    """Of one cheat against one sum. Where nothing was learnt, the rows' stage says why: nobody need have refused."""
    real = [row for row in tried if row.value >= 0]
    learnt = sum(row.value > 0 for row in real)
    if not real:
        return NOT_APPLICABLE
    if not learnt:
        reasons = {row.stage or NOT_LEARNT for row in real}
        return reasons.pop() if len(reasons) == 1 else NOT_LEARNT
    return LEARNT if learnt == len(real) else f"{LEARNT} in {learnt} of {len(real)}"


def cheats_of(found: Outcomes) -> list[str]:
    """All cheats, the order of the cells."""
    return list(dict.fromkeys(cheat for line in found.values() for cheat in line))


def picture(found: Outcomes, album: Album) -> Figure:
    """Words on colours and hatches: none of the three alone."""
    cheats = cheats_of(found)
    drawn, (axes,) = figures.panels(
        1, height=1.5 + 0.42 * len(found), width=max(figures.WIDTH, 2.0 + 1.15 * len(cheats))
    )
    for row, line in enumerate(found.values()):
        for column, cheat in enumerate(cheats):
            text = line.get(cheat, "not tried")
            colour, hatch = FILLS.get(text, MIXED if text.startswith(LEARNT) else ("#ffffff", ""))
            axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, hatch=hatch,
                                     edgecolor="#b06a50" if hatch else "#ffffff", linewidth=0))  # fmt: skip
            axes.text(column, row, textwrap.fill(text, 9), ha="center", va="center", fontsize=9.5, linespacing=1.0,
                      fontweight="bold" if text.startswith(LEARNT) else "normal")  # fmt: skip
    figures.name_rows(axes, list(found))
    axes.set_xlim(-0.5, len(cheats) - 0.5)
    axes.set_xticks(range(len(cheats)), [textwrap.fill(cheat, 14) for cheat in cheats])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("secure sum")
    return album.keep(drawn, "matrix", message=message(found), caption="Each cell is a cheat, tried against that sum.")


def message(found: Outcomes) -> str:
    """Which sums gave something away within one session; a second one is no fault of theirs, and is told apart."""
    within = {
        scheme: {cheat: text for cheat, text in line.items() if cheat != SECOND} for scheme, line in found.items()
    }
    words = within_a_session(within)
    if found and all(line.get(SECOND, "").startswith(LEARNT) for line in found.values()):
        words += "; a second session without a silo tells its vector in every sum"
    return words


def within_a_session(found: Outcomes) -> str:
    """Which sums yielded, and which did not."""
    tried = {scheme: line for scheme, line in found.items() if any(text != NOT_APPLICABLE for text in line.values())}
    weak = {scheme: sum(text.startswith(LEARNT) for text in line.values()) for scheme, line in tried.items()}
    open_sums = [f"{scheme} to {count}" for scheme, count in weak.items() if count]
    tight = [scheme for scheme, count in weak.items() if not count]
    if not weak:
        return "No cheat applies to any of these sums"
    if not open_sums:
        return f"No cheat that was tried got a silo's vector from {', '.join(tight)}"
    held = f"; {', '.join(tight)} to none" if tight else ""
    return f"Sums that yield to cheats: {', '.join(open_sums)}{held}"


def table(found: Outcomes) -> Table:
    """The matrix for those who do not see it."""
    rows = tuple(
        (cheat, *(line.get(cheat, "not tried") for line in found.values())) for cheat in cheats_of(found)
    )  # fmt: skip
    return Table("What each cheat learns", ("cheat", *found), rows)
