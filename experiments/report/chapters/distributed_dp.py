"""The chapter on distributed privacy with a trained classifier: accuracy against epsilon, by kind of noise and bits."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.experiments.report.averages import accuracy, at, choices, is_number, kind_of, numbers
from siloseal.experiments.report.chapters.draft import Album, Draft, Part
from siloseal.experiments.report.chapters.words import ACCURACY, missing, ranking, text_of
from siloseal.report import charts, wording
from siloseal.report.document import Figure, Table
from siloseal.report.intervals import Mean, averaged, bands, ends, mean

LEAD = (
    "The experiment by which distributed privacy is judged in its papers: a classifier over many silos, of which a "
    "round asks some, with noise that protects each silo as a whole. The noise is the aggregator's, or each silo's "
    "own, or split over the silos in integers of a few bits."
)
NOTES = (
    "Epsilon counts every round that asks the busiest silo in full, because a public rule chooses whom a round asks. "
    "The papers count with samples that nobody knows, which amplifies privacy: the same noise then has a smaller "
    "epsilon, as the table beside shows for the central Gaussian.",
    "The papers train a convolutional network for hundreds of rounds on handwritten letters by writer. Here a logistic "
    "regression learns MNIST at 14x14 in a few rounds, so that the grid takes minutes: curves compare, accuracies do "
    "not.",
    "DDG is of Kairouz, Liu and Steinke 2021, Skellam of Agarwal, Kairouz and Liu 2021, PBM of Chen, Ozgur and Kairouz "
    "2022: counted by the L2 norm, or over a frame, as in that paper. Step size, clip norm and rounds were chosen on a "
    "part of the training images, for the central Gaussian.",
    "Too few bits for an epsilon are no cell of the grid: such a job is refused before it runs.",
)
BARE = "no privacy, no clip"
CENTRAL, LOCAL = "gaussian_central", "gaussian_local"

Points = list[tuple[float, Mean]]


def draft(cells: Sequence[Measured], album: Album) -> Draft:
    """Draft the chapter: accuracy over epsilon and bits, what the papers say, and what epsilon assumes."""
    known = [cell for cell in cells if "noise" in cell.labels and is_number(cell.labels.get("epsilon", ""))]
    curves = {name: points for name in names(known) if (points := over_epsilon(of(known, name)))}
    if not curves:
        parts: list[Part] = [missing("accuracy", "jobs with labels `noise`, `epsilon` and, for split noise, `bits`")]
    else:
        bare = accuracy([cell for cell in cells if "noise" in cell.labels and "epsilon" not in cell.labels], "final")
        parts = [picture(curves, known, bare, album), results(curves, bare), claims(known), *assumptions(known)]
    return Draft("Distributed privacy: a classifier over many silos", LEAD, ("noise", "bits", "epsilon"),
                 [*parts, *NOTES])  # fmt: skip


def names(cells: Sequence[Measured]) -> list[tuple[Label, Label]]:
    """Return each kind of noise with each of its bits; the empty label where it has none."""
    return [
        (noise, bits)
        for noise in choices(cells, "noise")
        for bits in choices(at(cells, noise=noise), "bits") or [""]
    ]  # fmt: skip


def of(cells: Sequence[Measured], name: tuple[Label, Label]) -> list[Measured]:
    """Return the cells of one kind of noise with so many bits."""
    noise, bits = name
    return at(cells, noise=noise) if bits == "" else at(cells, noise=noise, bits=bits)


def called(name: tuple[Label, Label]) -> str:
    """Return the name of a curve."""
    noise, bits = name
    return text_of(noise) if bits == "" else f"{text_of(noise)}, {text_of(bits)} bits"


def over_epsilon(cells: Sequence[Measured]) -> Points:
    """Return the final accuracies over epsilon."""
    return [
        (float(epsilon), found)
        for epsilon in choices(cells, "epsilon")
        if (found := accuracy(at(cells, epsilon=epsilon), "final"))
    ]


def widest(cells: Sequence[Measured]) -> list[tuple[Label, Label]]:
    """Return each kind of noise with the most of its bits."""
    found = dict[Label, tuple[Label, Label]]()
    for name in names(cells):
        found[name[0]] = name
    return list(found.values())


def picture(
    curves: dict[tuple[Label, Label], Points], cells: Sequence[Measured], bare: Mean | None, album: Album
) -> Figure:
    """Draw accuracy over epsilon with the most bits of each noise, and over bits at each epsilon."""
    drawn, (left, right) = charts.panels(2, columns=2, height=3.8)
    kinds = choices(cells, "noise")
    for name in widest(cells):
        if name in curves:
            charts.curve(left, curves[name], charts.look(kinds.index(name[0])), called(name))
    if bare is not None:
        charts.level(left, bare, charts.look(len(kinds)), BARE)
    charts.logarithmic(left, "x")
    charts.ticks_at(left.xaxis, [epsilon for points in curves.values() for epsilon, _ in points])
    left.set_xlabel("epsilon (privacy loss; smaller protects more)")
    charts.measured_in(left, ACCURACY, "by epsilon, with the most bits")
    of_bits = over_bits(right, cells)
    means = [one for points in curves.values() for _, one in points] + ([] if bare is None else [bare])
    fitted = charts.fit_shares([left], ends(means))
    if of_bits and (said := charts.fit_shares([right], ends(of_bits))):
        fitted += said.replace("The axis", "The right axis")
    charts.legend(drawn)
    caption = f"Final accuracy of the classifier.{at_delta(cells)} {bands(means)}{fitted}"
    return album.keep(drawn, "accuracy", message=message(curves, cells), caption=caption)


def over_bits(panel: Axes, cells: Sequence[Measured]) -> list[Mean]:
    """Draw accuracy over the bits of an entry, for the first split noise that varies them; return what was drawn."""
    noise = next((noise for noise in choices(cells, "noise") if len(choices(at(cells, noise=noise), "bits")) > 1), "")
    split, means = at(cells, noise=noise), list[Mean]()
    for index, epsilon in enumerate(choices(split, "epsilon")):
        there = at(split, epsilon=epsilon)
        points = [
            (float(bits), found)
            for bits in choices(there, "bits")
            if (found := accuracy(at(there, bits=bits), "final"))
        ]
        means += [one for _, one in points]
        shown = charts.look(len(choices(cells, "noise")) + 1 + index)
        charts.curve(panel, points, shown, f"{text_of(noise)}, epsilon {text_of(epsilon)}")
    panel.set_xlabel("bits of an entry (count)")
    charts.ticks_at(panel.xaxis, [float(bits) for bits in choices(split, "bits")])
    charts.measured_in(panel, ACCURACY, "by bits")
    return means


def message(curves: dict[tuple[Label, Label], Points], cells: Sequence[Measured]) -> str:
    """Rank the kinds of noise, each with its most bits, where most of them have a number."""
    every = [epsilon for name in widest(cells) for epsilon, _ in curves.get(name, [])]
    epsilon = max(every, key=lambda one: (every.count(one), -one))
    found = {
        called(name): dict(curves[name])[epsilon] for name in widest(cells) if epsilon in dict(curves.get(name, []))
    }
    return f"At epsilon {epsilon:g} {ranking(found)}"


def at_delta(cells: Sequence[Measured]) -> str:
    """Return the delta that goes with the epsilons."""
    found = sorted(set(numbers(cells, "delta")))
    return f" Epsilons are at delta {wording.delta(found[0])}." if found else ""


def results(curves: dict[tuple[Label, Label], Points], bare: Mean | None) -> Table:
    """Return the table of all accuracies."""
    epsilons = sorted({epsilon for points in curves.values() for epsilon, _ in points})
    rows = tuple(
        (called(name), *(dict(points)[one].text() if one in dict(points) else "not measured" for one in epsilons))
        for name, points in curves.items()
    )
    if bare is not None:
        rows += ((BARE, *([bare.text()] * len(epsilons))),)
    caption = averaged("Final accuracy", (one for points in curves.values() for _, one in points))
    columns = ("noise", *(f"epsilon {one:g}" for one in epsilons))
    return Table(caption, columns, rows, tuple(range(1, len(columns))))


def claims(cells: Sequence[Measured]) -> Table:
    """Return the table of what the papers say, and whether it is so here."""
    rows = []
    for kind, paper in (("ddg", "Kairouz et al. 2021"), ("skellam", "Agarwal et al. 2021")):
        rows.append((paper, f"{kind} with enough bits is as good as the central Gaussian", as_good(cells, kind)))
    rows.append(("Kairouz et al. 2021", "few bits cost accuracy, less so at a large epsilon", cost_of_bits(cells)))
    rows.append(("all three", "noise of each silo by itself is far worse", far_below(cells)))
    rows.append(
        ("Chen et al. 2022", "pbm has the order of the central Gaussian's error, in few bits", as_good(cells, "pbm"))
    )
    return Table("What the papers say, and what is found here", ("paper", "claim", "here"), tuple(rows), ())


def against_central(cells: Sequence[Measured], kind: str) -> list[tuple[Label, Mean, bool]]:
    """Return, at each epsilon, the gap of a noise with its most bits to the central Gaussian's, and if it is sure."""
    mine = [cell for name in widest(cells) if kind_of(of(cells, name), "mechanism") == kind for cell in of(cells, name)]
    central = [cell for cell in cells if cell.kinds.get("mechanism") == CENTRAL]
    found = []
    for epsilon in choices(mine, "epsilon"):
        one, other = accuracy(at(mine, epsilon=epsilon), "final"), accuracy(at(central, epsilon=epsilon), "final")
        if one is not None and other is not None:
            seeds = one.by_seed.keys() & other.by_seed.keys()
            gap = mean([one.by_seed[seed] - other.by_seed[seed] for seed in sorted(seeds)])
            found.append((epsilon, gap or Mean(one.value - other.value, None, 1), one.apart(other)))
    return found


def as_good(cells: Sequence[Measured], kind: str) -> str:
    """Say how far a noise is from the central Gaussian, at each epsilon."""
    gaps = against_central(cells, kind)
    if not gaps:
        return "not measured"
    listed = ", ".join(f"{gap.value:+.3f} at epsilon {text_of(epsilon)}" for epsilon, gap, _ in gaps)
    if any(gap.half_width is None for _, gap, _ in gaps):
        return f"one seed: {listed}"
    surely = [epsilon for epsilon, _, sure in gaps if sure]
    if not surely:
        return f"cannot be told apart: {listed}"
    return f"differs at epsilon {', '.join(text_of(one) for one in surely)}: {listed}"


def far_below(cells: Sequence[Measured]) -> str:
    """Say how far local noise is from the central Gaussian."""
    gaps = against_central(cells, LOCAL)
    return ", ".join(f"{gap.value:+.3f} at epsilon {text_of(epsilon)}" for epsilon, gap, _ in gaps) or "not measured"


def cost_of_bits(cells: Sequence[Measured]) -> str:
    """Say what the fewest bits cost against the most, at each epsilon that has both."""
    mine = [cell for cell in cells if cell.kinds.get("mechanism") == "ddg"]
    parts = []
    for epsilon in choices(mine, "epsilon"):
        there = at(mine, epsilon=epsilon)
        counts = choices(there, "bits")
        few, many = (accuracy(at(there, bits=bits), "final") for bits in (counts[0], counts[-1]))
        if few is not None and many is not None and len(counts) > 1:
            sure = "" if few.apart(many) else ", one seed" if few.half_width is None else ", may be chance"
            parts.append(
                f"{few.value - many.value:+.3f} at {text_of(counts[0])} bits, epsilon {text_of(epsilon)}{sure}"
            )
    return "; ".join(parts) or "not measured"


def assumptions(cells: Sequence[Measured]) -> list[Table]:
    """Return the table of what the central Gaussian's noise means with and without hidden samples; none if unknown."""
    rows = []
    for epsilon in choices(cells, "epsilon"):
        there = at(cells, epsilon=epsilon)
        if hidden := mean(numbers(there, "epsilon_if_hidden")):
            rows.append((text_of(epsilon), f"{hidden.value:.2f}"))
    if not rows:
        return []
    columns = ("a public rule chooses (here)", "nobody knows whom a round asks (as the papers count)")
    return [Table("Epsilon of the same central noise under two assumptions", columns, tuple(rows), (0, 1))]
