"""DP-Adam against DP-SGD and DP-AdamBC at the noise of the paper: how far each comes in how many private steps."""

import textwrap
from collections.abc import Mapping, Sequence

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import accuracy, at, choices, headline, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, missing, ranking, text_of
from siloseal.federation.job.phases import Phase
from siloseal.federation.privacy.epsilon import protects
from siloseal.report import charts, wording
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

NO_GUARANTEE = 10.01
"""Epsilon above which this chapter speaks of no guarantee, earlier than other reports do: 10, a weak guarantee, is
the most that any job of this project is given."""

LEAD = (
    "The same job with another rule for the private steps, at several noise multipliers. "
    "Each panel is one sigma; the curves are the global model's accuracy over the private steps of each silo."
)
NOTES = (
    "Where a panel says that there is no meaningful guarantee, it shows training with little noise, not privacy.",
    "Every optimizer has the settings of the comparison's file; another learning rate may rank them differently.",
)

Curve = list[tuple[float, Mean]]


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: four panels and a table."""
    known = [cell for cell in cells if {"optimizer", "sigma"} <= cell.labels.keys()]
    sigmas = choices(known, "sigma")
    parts: list[Part] = []
    if any(curve_of(at(known, sigma=sigma)) for sigma in sigmas):
        parts.append(convergence(known, sigmas, album))
    else:
        parts.append(missing("convergence", "labels `optimizer` and `sigma`, rows `accuracy` and `steps` by stage"))
    if finals(known):
        parts.append(table(known))
    return Draft("Optimizers under privacy noise", LEAD, ("optimizer", "sigma"), [*parts, *NOTES])


def curve_of(cells: Sequence[Measured]) -> Curve:
    """Return accuracy by private steps. A warm start comes before the first; the final model after the last."""
    stages = dict.fromkeys(row.stage for cell in cells for row in cell.find("accuracy", silo=""))
    steps = {stage: found for stage in stages if (found := mean(numbers(cells, "steps", stage=stage)))}
    if not steps:
        return []
    places = {Phase.WARM_START: 0.0, "final": max(found.value for found in steps.values())}
    places |= {stage: found.value for stage, found in steps.items()}
    points = {places[stage]: value for stage in stages if stage in places and (value := accuracy(cells, stage))}
    return sorted(points.items())


def convergence(cells: Sequence[Measured], sigmas: Sequence[Label], album: Album) -> Figure:
    """Draw a panel for each sigma, with a curve for each optimizer."""
    picture, panels = charts.panels(len(sigmas), columns=2, height=2.75, share=True)
    drawn: list[Mean] = []
    for sigma, panel in zip(sigmas, panels, strict=True):
        for index, optimizer in enumerate(choices(cells, "optimizer")):
            points = curve_of(at(cells, sigma=sigma, optimizer=optimizer))
            if points:
                charts.curve(panel, points, charts.look(index), text_of(optimizer))
                drawn += [value for _, value in points]
        name = textwrap.fill(f"sigma {text_of(sigma)}: {worth(at(cells, sigma=sigma))}", 36)
        charts.measured_in(panel, ACCURACY, name)
    for panel in panels[-2:]:
        panel.set_xlabel("private steps of each silo (count)")
    fitted = charts.fit_shares(panels, ends(drawn))
    charts.legend(picture)
    caption = (
        f"Accuracy of the {headline(cells)} classifier on real test images. {bands(drawn)} Of the sigmas with a "
        "guarantee, and of those without, the title takes the one where the optimizers end furthest apart, "
        f"beyond doubt if any do.{fitted}"
    )
    return album.keep(picture, "convergence", message=message(cells), caption=caption)


def spent(cells: Sequence[Measured]) -> float | None:
    """Return the epsilon of the silo that spent most."""
    return max((row.value for cell in cells for row in cell.find("epsilon", stage="total")), default=None)


def worth(cells: Sequence[Measured]) -> str:
    """Return in words what the noise protects."""
    return wording.guarantee(spent(cells), max(numbers(cells, "delta"), default=None), limit=NO_GUARANTEE)


def finals(cells: Sequence[Measured]) -> dict[Label, dict[str, Mean]]:
    """Return the final accuracy by sigma and optimizer, of what was measured."""
    found: dict[Label, dict[str, Mean]] = {}
    for sigma in choices(cells, "sigma"):
        for optimizer in choices(cells, "optimizer"):
            value = accuracy(at(cells, sigma=sigma, optimizer=optimizer), "final")
            if value is not None:
                found.setdefault(sigma, {})[text_of(optimizer)] = value
    return found


def message(cells: Sequence[Measured]) -> str:
    """Say the ranking where it differs most, among the sigmas that protect anyone, and then among the others."""
    found = finals(cells)
    if not found:
        return "How accuracy grows with private steps"
    epsilons = {sigma: spent(at(cells, sigma=sigma)) for sigma in found}
    private = [sigma for sigma, paid in epsilons.items() if paid is not None and protects(paid, limit=NO_GUARANTEE)]
    others = [sigma for sigma in found if sigma not in private]
    said = [most_apart(found, private)] if private else []
    said += [f"without a meaningful guarantee, {most_apart(found, others)}"] if others else []
    whole = "; ".join(said)
    return whole[0].upper() + whole[1:]


def most_apart(finals: Mapping[Label, Mapping[str, Mean]], sigmas: Sequence[Label]) -> str:
    """Return words like "at sigma 5 DP-Adam reaches 0.62, DP-SGD 0.41", of the sigma with the widest sure gap."""

    def gap(sigma: Label) -> tuple[bool, float]:
        found = sorted(finals[sigma].values(), key=lambda one: one.value)
        return found[-1].apart(found[0]), found[-1].value - found[0].value

    sigma = max(sigmas, key=gap)
    return f"at sigma {text_of(sigma)} {ranking(finals[sigma])}"


def table(cells: Sequence[Measured]) -> Table:
    """Return the table of what the curves end at."""
    optimizers = [text_of(one) for one in choices(cells, "optimizer")]
    found = finals(cells)
    rows = tuple(
        (text_of(sigma), *(reached[one].text() if one in reached else "not measured" for one in optimizers),
         worth(at(cells, sigma=sigma)))
        for sigma, reached in found.items()
    )  # fmt: skip
    means = (one for reached in found.values() for one in reached.values())
    caption = averaged("Final accuracy by sigma and optimizer", means)
    return Table(caption, ("sigma", *optimizers, "largest guarantee spent"), rows, tuple(range(1 + len(optimizers))))
