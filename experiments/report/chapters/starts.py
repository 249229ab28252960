"""The chapter on where training starts: what a warm start, the average and the tuning rounds each add."""

from collections.abc import Sequence

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import accuracy, at, choices, chosen, headline
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, doubts, missing, ranked, text_of
from siloseal.federation.job.phases import Phase
from siloseal.federation.privacy.epsilon import epsilon_text
from siloseal.report import charts
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

LEAD = (
    "The same job from different starts. A start may be a private sum of random features (kernel_mean), a fit to "
    "public images (public), or random weights (none)."
)
NOTES = (
    "The best silo is picked after the fact, which favours it: it is the maximum over silos after local training.",
    "The warm start is the model that every silo begins with; the average is the model after phase 1.",
)
STAGES = {"warm start": Phase.WARM_START, "best silo": "", "average": Phase.PHASE_1, "final": "final"}
"""Stages as figures name them, and as rows do; the best silo is computed."""

Starts = dict[str, dict[str, Mean]]
"""Accuracy of each stage, by start."""


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: a panel for each way of dealing, and the table."""
    known = [cell for cell in cells if "start" in cell.labels]
    dealt = {data: found for data in choices(known, "data") or [""] if (found := starts(chosen(known, "data", data)))}
    if dealt:
        parts: list[Part] = [picture(dealt, known, album), table(dealt, known)]
    else:
        parts = [missing("starts", "labels `data` and `start`, rows of accuracy by stage")]
    return Draft("Where training starts", LEAD, ("data", "start"), [*parts, *NOTES])


def starts(cells: Sequence[Measured]) -> Starts:
    """Return what was measured of each start."""
    found: Starts = {}
    for start in choices(cells, "start"):
        there = at(cells, start=start)
        for name, stage in STAGES.items():
            one = accuracy(there, stage) if stage else best_silo(there)
            if one is not None:
                found.setdefault(text_of(start), {})[name] = one
    return found


def best_silo(cells: Sequence[Measured]) -> Mean | None:
    """Return the accuracy of the silo whose own model is best after local training, for each seed."""
    trained = [cell.find("accuracy", stage="silo_trained") for cell in cells]
    return mean([max(row.value for row in rows) for rows in trained if rows])


def picture(dealt: dict[Label, Starts], cells: Sequence[Measured], album: Album) -> Figure:
    """Draw dots side by side: the stages are no scale."""
    drawn, panels = charts.panels(len(dealt), columns=2, height=3.4, share=True)
    names = [text_of(start) for start in choices(cells, "start")]
    for (data, found), panel in zip(dealt.items(), panels, strict=True):
        for index, start in enumerate(names):
            offset = 0.2 * (index - (len(names) - 1) / 2)
            points = [(place + offset, found[start][stage]) for place, stage in enumerate(STAGES)
                      if stage in found.get(start, {})]  # fmt: skip
            if points:
                charts.dots(panel, points, charts.look(index), start)
        panel.set_xticks(range(len(STAGES)), [stage.replace(" ", "\n") for stage in STAGES])
        panel.grid(visible=False, axis="x")
        panel.set_xlim(-0.5, len(STAGES) - 0.5)
        panel.set_xlabel("stage of the job")
        charts.measured_in(panel, ACCURACY, text_of(data))
    means = [one for found in dealt.values() for stages in found.values() for one in stages.values()]
    fitted = charts.fit_shares(panels, ends(means))
    charts.legend(drawn)
    caption = f"Accuracy of the {headline(cells)} classifier. {bands(means)}{fitted}"
    return album.keep(drawn, "starts", message=message(dealt), caption=caption)


def message(dealt: dict[Label, Starts]) -> str:
    """Say where the starts end, with a word on those that are not clearly below the best."""
    parts = []
    for data, found in dealt.items():
        finals = {start: stages["final"] for start, stages in found.items() if "final" in stages}
        if finals:
            (_, best), *rest = ranked(finals)
            order = ", ".join(f"{start} {one.value:.2f}" for start, one in ranked(finals)) + doubts(best, dict(rest))
            parts.append(f"{text_of(data)}: {order}" if data != "" else order)
    return f"Final accuracy by start: {'; '.join(parts)}" if parts else "Accuracy by start and stage"


def table(dealt: dict[Label, Starts], cells: Sequence[Measured]) -> Table:
    """Return the table of accuracies by stage."""
    rows = []
    for data, found in dealt.items():
        for start in choices(chosen(cells, "data", data), "start"):
            there = at(chosen(cells, "data", data), start=start)
            stages = found.get(text_of(start), {})
            values = [stages[name].text() if name in stages else "not measured" for name in STAGES]
            seeds = str(len({cell.seed for cell in there}))
            rows.append((text_of(data), text_of(start), seeds, *values, others(there), spent(there)))
    columns = ("data", "start", "seeds", *STAGES, "final, other classifiers", "epsilon")
    means = (one for found in dealt.values() for stages in found.values() for one in stages.values())
    return Table(averaged("Accuracy by stage", means), columns, tuple(rows), tuple(range(2, len(columns))))


def others(cells: Sequence[Measured]) -> str:
    """Return the final accuracy of the classifiers beside the headline's."""
    rows = [row for cell in cells for row in cell.find("other_accuracy", stage="final", silo="")]
    found = {
        name: mean([row.value for row in rows if row.detail == name]) for name in dict.fromkeys(r.detail for r in rows)
    }
    return ", ".join(f"{name} {one.value:.3f}" for name, one in found.items() if one) or "not measured"


def spent(cells: Sequence[Measured]) -> str:
    """Return the epsilon of the silo that spent most."""
    found = [row.value for cell in cells for row in cell.find("epsilon", stage="total")]
    return epsilon_text(max(found)) if found else "not recorded"
