"""The chapter on who adds the noise: its cost in accuracy of a job, and in the error of a single sum."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Measured
from siloseal.experiments.report.averages import accuracy, at, choices, headline, is_number, kind_of, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, doubts, missing, ranked, ranking, text_of
from siloseal.federation.sums.exposure import NoisedBy
from siloseal.federation.sums.secagg.secagg_sum import SecAggSum
from siloseal.report import charts, wording
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

LEAD = (
    "The same privacy by different hands: noise in every training step, noise that each silo or the aggregator adds to "
    "a sum, and noise split over the silos. They differ in who must be trusted, and in the noise that this takes."
)
NOTES = (
    "An epsilon counts for its unit: a job protects one example, unless its file says otherwise; a single sum protects "
    "a silo's whole vector. So the epsilons of the two pictures are not the same promise.",
    "The noise of DDG, Skellam and binomial sums protects only under a sum that hides single silos.",
    "Poisson-binomial noise (PBM) protects whole vectors of silos and no single examples, so no job here has it. It is "
    "counted by the L2 norm; over a Kashin frame, as in its paper, it also covers any exchange of vectors.",
    "Noise in the training steps goes with another job than noise on a sum, see the comparison's file: what differs "
    "between them is more than the noise.",
)
SEEN_BY_AGGREGATOR = SecAggSum().exposure.noised(NoisedBy.AGGREGATOR).aggregator_learns
LOCAL = ("each silo, all that it needs", "nobody", "n times")
CENTRAL = (NoisedBy.AGGREGATOR.value, f"the aggregator, with {SEEN_BY_AGGREGATOR}", "once")
SPLIT = ("each silo a part, in integers, under a sum that hides parts", "h honest silos of those that stay")
IN_TRAINING = ("each silo, in every training step", "nobody", "no noise on the sum itself")
TRUST = {
    "gaussian_local": LOCAL, "gaussian_central": CENTRAL,
    "ddg": (*SPLIT, "n / h times"), "skellam": (*SPLIT, "n / h times"),
    "binomial": (*SPLIT, "more, by a looser theorem and composition"),
    "pbm": ("the coins that carry the values", SPLIT[1], "n / h times, and a few per cent that bits lower"),
    "pbm_kashin": ("the coins that carry the values", SPLIT[1], "5.7 times that of a Gaussian, both against exchange"),
}  # fmt: skip
"""Who adds the noise, who is trusted, and how large the variance on a sum is, by `mechanism.kind`."""

Curves = dict[str, list[tuple[float, Mean]]]
"""Points over epsilon, by kind of noise."""
Pick = Callable[[Sequence[Measured]], Mean | None]


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: accuracies of jobs, and errors of single sums."""
    known = [cell for cell in cells if "noise" in cell.labels and is_number(cell.labels.get("epsilon", ""))]
    jobs, single = by_noise(known, accurate), by_noise(known, relative)
    parts: list[Part] = [
        accuracies(jobs, known, album) if jobs else missing("accuracy", "jobs with labels `noise` and `epsilon`"),
        errors(single, known, album) if single else missing("errors", "cells with `rmse` and `central_rmse`"),
    ]
    parts += [results(jobs, "Final accuracy by epsilon")] if jobs else []
    parts += [results(single, "Error of a sum by epsilon, in errors of the central Gaussian")] if single else []
    parts += [table(known)] if known else []
    return Draft("Who adds the noise", LEAD, ("noise", "epsilon"), [*parts, *NOTES])


def accurate(cells: Sequence[Measured]) -> Mean | None:
    """Return the final accuracy."""
    return accuracy(cells, "final")


def relative(cells: Sequence[Measured]) -> Mean | None:
    """Return the error of the sum, in errors of the central Gaussian."""
    pairs = [(cell.find("rmse"), cell.find("central_rmse")) for cell in cells]
    return mean(
        [error[0].value / central[0].value for error, central in pairs if error and central and central[0].value]
    )


def by_noise(cells: Sequence[Measured], pick: Pick) -> Curves:
    """Return points over epsilon, of each kind of noise that has any."""
    curves: Curves = {}
    for kind in choices(cells, "noise"):
        of = at(cells, noise=kind)
        points = [
            (float(epsilon), found) for epsilon in choices(of, "epsilon") if (found := pick(at(of, epsilon=epsilon)))
        ]
        if points:
            curves[text_of(kind)] = points
    return curves


def drawn(axes: Axes, curves: Curves, cells: Sequence[Measured]) -> str:
    """Draw the curves over epsilon, a kind of noise alike in every picture, and say what their bands are."""
    kinds = [text_of(kind) for kind in choices(cells, "noise")]
    for kind, points in curves.items():
        charts.curve(axes, points, charts.look(kinds.index(kind)), kind)
    charts.logarithmic(axes, "x")
    charts.ticks_at(axes.xaxis, [epsilon for points in curves.values() for epsilon, _ in points])
    axes.set_xlabel("epsilon (privacy loss; smaller protects more)")
    return bands(one for points in curves.values() for _, one in points)


def common(curves: Curves) -> tuple[float, dict[str, Mean]]:
    """Return the smallest epsilon that the most kinds of noise have, and their numbers there."""
    every = [epsilon for points in curves.values() for epsilon, _ in points]
    epsilon = max(every, key=lambda one: (every.count(one), -one))
    return epsilon, {kind: dict(points)[epsilon] for kind, points in curves.items() if epsilon in dict(points)}


def accuracies(curves: Curves, cells: Sequence[Measured], album: Album) -> Figure:
    """Draw accuracy against epsilon."""
    picture, (axes,) = charts.panels(1, height=4.0)
    sentence = drawn(axes, curves, cells)
    charts.measured_in(axes, ACCURACY)
    fitted = charts.fit_shares([axes], ends(one for points in curves.values() for _, one in points))
    charts.legend(picture)
    epsilon, means = common(curves)
    message = f"At epsilon {epsilon:g} {ranking(means)}"
    caption = f"Final accuracy of the {headline(cells)} classifier.{at_delta(cells, 'accuracy')} {sentence}{fitted}"
    return album.keep(picture, "accuracy", message=message, caption=caption)


def errors(curves: Curves, cells: Sequence[Measured], album: Album) -> Figure:
    """Draw the error against epsilon, relative to the least that any noise could have."""
    picture, (axes,) = charts.panels(1, height=4.0)
    sentence = drawn(axes, curves, cells)
    axes.axhline(1.0, color=charts.GREY, linewidth=1)
    charts.logarithmic(axes, "y")
    charts.measured_in(axes, "error of the sum (times the central Gaussian's)")
    charts.legend(picture)
    epsilon, means = common(curves)
    least_first = ranked(means)[::-1]
    listed = ", ".join(f"{kind} {error.value:.2f}" for kind, error in least_first)
    message = f"Error of a sum at epsilon {epsilon:g}, relative to the central Gaussian's: {listed}"
    message += doubts(least_first[0][1], dict(least_first[1:]))
    caption = "Root mean squared error of an entry of the sum, over that of the central Gaussian."
    caption += f"{at_delta(cells, 'rmse')} {sentence}"
    return album.keep(picture, "error", message=message, caption=caption)


def at_delta(cells: Sequence[Measured], measure: str) -> str:
    """Return the delta that goes with the epsilons of these cells, as far as they recorded it."""
    found = sorted(set(numbers([cell for cell in cells if cell.find(measure)], "delta")))
    if not found:
        return " Their delta was not recorded with these cells."
    return f" Epsilons are at delta {' to '.join(wording.delta(one) for one in (found[0], found[-1])[: len(found)])}."


def results(curves: Curves, caption: str) -> Table:
    """Return the table of what the curves show."""
    epsilons = sorted({epsilon for points in curves.values() for epsilon, _ in points})
    rows = tuple(
        (kind, *(dict(points)[one].text() if one in dict(points) else "not measured" for one in epsilons))
        for kind, points in curves.items()
    )
    means = (one for points in curves.values() for _, one in points)
    return Table(
        averaged(caption, means),
        ("noise", *(f"epsilon {one:g}" for one in epsilons)),
        rows,
        tuple(range(1, 1 + len(epsilons))),
    )


def table(cells: Sequence[Measured]) -> Table:
    """Return the table of who adds the noise, who must be trusted, and the bytes of a silo's part."""
    rows = []
    for kind in choices(cells, "noise"):
        of = at(cells, noise=kind)
        bits = [sum(row.value for row in cell.find("sent_bytes")) for cell in of if cell.find("rmse")]
        sent = mean([value for value in bits if value])
        of_a_job = all(cell.find("accuracy") and "mechanism" not in cell.kinds for cell in of)
        trust = IN_TRAINING if of_a_job else TRUST.get(kind_of(of, "mechanism"), ("not described here",) * 3)
        rows.append((text_of(kind), *trust, wording.size(sent.value) if sent else "not measured"))
    columns = (
        "noise",
        "who adds it",
        "who is trusted",
        "variance on a sum of n silos, in central ones",
        "a silo sends in one sum",
    )
    return Table("Who adds the noise, and who must be trusted", columns, tuple(rows), (4,))
