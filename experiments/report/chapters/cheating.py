"""The chapter on cheating aggregators: what each cheat learns from each sum, tried against real silos' sides."""

import textwrap
from collections.abc import Sequence

from matplotlib.patches import Rectangle

from siloseal.experiments.attacks.cheat_names import WITH_A_SILO
from siloseal.experiments.comparison.rows import Measured, Row
from siloseal.experiments.report.averages import at, choices
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import missing, text_of
from siloseal.federation.sums.one_key.one_key_sum import PaillierSum
from siloseal.federation.sums.threshold import may_pool
from siloseal.report import charts
from siloseal.report.document import Figure, Table

LEAD = (
    "An aggregator that looks, computes and lies, alone or together with one of four silos, tried against real silos: "
    "whether it learns another silo's vector, or is refused."
)
NOTES = (
    "Learnt: a silo's vector, or how it changed between two sessions, came out in the aggregator's hands. Refused: in "
    "every way that was tried silos refused, and nothing came out. Harmless: enough silos answered, and what came of "
    "it is not a silo's vector. Does not apply: there was nothing to send, or nothing to compute from.",
    "Two sessions, one of them without the victim, are no lie that a sum could notice: their difference is the "
    "vector. What prevents it is not tried here: the silo's runtime, its policy, and the noise in what is summed.",
    "Together with a silo: everything that the silo knows the aggregator knows. The silo uploads a ciphertext with a "
    "large constant on its c1, a copy of the victim's upload, what cancels all uploads but the victim's, or "
    "a constant; or it takes part with a malformed key; or it signs both of two lists. Under one key no cheat is "
    f"needed: {PaillierSum.exposure.if_more_collude}. With a threshold of three of four silos, {may_pool(4, 3)} may "
    "collude.",
    "Nothing here is about false sums: a silo that cheats can falsify the sum in every scheme.",
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
ALONE, TOGETHER = "the aggregator alone", "the aggregator and one silo"
HELPED = {cheat.replace("_", " ") for cheat in WITH_A_SILO}
MIXED = ("#f6d9a8", "...")

Outcomes = dict[str, dict[str, str]]
"""Outcome of each cheat as a word, by sum and by cheat."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: the matrix, and the same in words."""
    found = outcomes([cell for cell in cells if "sum" in cell.labels])
    parts: list[Part] = [missing("the matrix", "cells with label `sum` and rows `learnt`, a cheat in each `detail`")]
    if found:
        parts = [picture(found, album), table(found)]
    return Draft("A cheating aggregator", LEAD, ("sum",), [*parts, *NOTES])


def outcomes(cells: Sequence[Measured]) -> Outcomes:
    """Return the outcome of every cheat; over seeds that differ, how often it worked."""
    cheats = dict.fromkeys(row.detail for cell in cells for row in cell.find("learnt"))
    found: Outcomes = {}
    for scheme in choices(cells, "sum"):
        for cheat in cheats:
            tried = [row for cell in at(cells, sum=scheme) for row in cell.find("learnt", detail=cheat)]
            if tried:
                found.setdefault(text_of(scheme), {})[cheat.replace("_", " ")] = word(tried)
    return found


def word(tried: Sequence[Row]) -> str:
    """Return the outcome of one cheat against one sum. Where nothing was learnt, the rows' stage says why."""
    real = [row for row in tried if row.value >= 0]
    learnt = sum(row.value > 0 for row in real)
    if not real:
        return NOT_APPLICABLE
    if not learnt:
        reasons = {row.stage or NOT_LEARNT for row in real}
        return reasons.pop() if len(reasons) == 1 else NOT_LEARNT
    return LEARNT if learnt == len(real) else f"{LEARNT} in {learnt} of {len(real)}"


def cheats_of(found: Outcomes) -> list[str]:
    """Return all cheats, in the order of the cells."""
    return list(dict.fromkeys(cheat for line in found.values() for cheat in line))


def picture(found: Outcomes, album: Album) -> Figure:
    """Draw the matrix: words on colours and hatches, none of the three alone. A cheat is a row, a sum a column."""
    rows, sums = lines(cheats_of(found)), list(found)
    drawn, (axes,) = charts.panels(1, height=1.1 + 0.42 * len(rows), width=max(charts.WIDTH, 2.0 + 0.95 * len(sums)))
    for row, cheat in enumerate(rows):
        if cheat in (ALONE, TOGETHER):
            axes.text(-0.48, row + 0.1, cheat, ha="left", va="center", fontsize=10.5, fontweight="bold")
            continue
        for column, scheme in enumerate(sums):
            text = found[scheme].get(cheat, "not tried")
            colour, hatch = FILLS.get(text, MIXED if text.startswith(LEARNT) else ("#ffffff", ""))
            axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, hatch=hatch,
                                     edgecolor="#b06a50" if hatch else "#ffffff", linewidth=0))  # fmt: skip
            axes.text(column, row, textwrap.fill(text, 9), ha="center", va="center", fontsize=9.5, linespacing=1.0,
                      fontweight="bold" if text.startswith(LEARNT) else "normal")  # fmt: skip
    charts.name_rows(axes, ["" if cheat in (ALONE, TOGETHER) else cheat for cheat in rows])
    axes.set_xlim(-0.5, len(sums) - 0.5)
    axes.set_xticks(range(len(sums)), [textwrap.fill(scheme, 10) for scheme in sums])
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("secure sum")
    return album.keep(drawn, "matrix", message=message(found), caption="Each cell is a cheat, tried against that sum.")


def lines(cheats: Sequence[str]) -> list[str]:
    """Return the rows of the picture: who cheats, and then how."""
    alone = [cheat for cheat in cheats if cheat not in HELPED]
    helped = [cheat for cheat in cheats if cheat in HELPED]
    return [*([ALONE, *alone] if alone else []), *([TOGETHER, *helped] if helped else [])]


def message(found: Outcomes) -> str:
    """Say which sums gave something away within one session, and apart from these, which did in a second one."""
    within = {
        scheme: {cheat: text for cheat, text in line.items() if cheat != SECOND} for scheme, line in found.items()
    }
    words = within_a_session(within)
    if found and all(line.get(SECOND, "").startswith(LEARNT) for line in found.values()):
        words += "; a second session without a silo tells its vector in every sum"
    return words


def within_a_session(found: Outcomes) -> str:
    """Say which sums yielded, and which did not."""
    tried = {scheme: line for scheme, line in found.items() if any(text != NOT_APPLICABLE for text in line.values())}
    weak = {scheme: [cheat for cheat in line if line[cheat].startswith(LEARNT)] for scheme, line in tried.items()}
    open_sums = [f"{scheme} to {_counted(cheats)}" for scheme, cheats in weak.items() if cheats]
    tight = [scheme for scheme, cheats in weak.items() if not cheats]
    if not weak:
        return "No cheat applies to any of these sums"
    if not open_sums:
        return f"No cheat that was tried got a silo's vector from {', '.join(tight)}"
    held = f"; {', '.join(tight)} to none" if tight else ""
    return f"Sums that yield to cheats: {', '.join(open_sums)}{held}"


def _counted(cheats: Sequence[str]) -> str:
    """Say how many cheats there are, and with how many of them a silo helps."""
    helped = sum(cheat in HELPED for cheat in cheats)
    return f"{len(cheats)} ({helped} with a silo's help)" if helped else str(len(cheats))


def table(found: Outcomes) -> Table:
    """Return the matrix as a table, for those who do not see the picture."""
    rows = tuple(
        (f"{cheat}, with a silo's help" if cheat in HELPED and "silo" not in cheat else cheat,
         *(line.get(cheat, "not tried") for line in found.values())) for cheat in cheats_of(found)
    )  # fmt: skip
    return Table("What each cheat learns", ("cheat", *found), rows)
