"""The accuracy of a run over its stages, against each silo alone and against the ceiling."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from siloseal.report import charts, wording
from siloseal.report.document import Figure
from siloseal.report.intervals import Mean, ends
from siloseal.report.score_table import stage_name
from siloseal.run_folder.summary import RunSummary

MOST_LEVELS = 6
"""Number of silos that have a line of their own; of more, one band shows where they lie."""
LINE = 0.075
"""Height of a label, as a share of the axis."""


def accuracy_chart(summary: RunSummary) -> Figure:
    """Accuracy of the global model over the stages, against each silo alone and against the ceiling."""
    stages = [stage for stage in summary.accuracy if stage != "final"] or list(summary.accuracy)  # final: the last one
    points = [_measured(summary, stage) for stage in stages]
    names = [stage_name(stage, summary) for stage in stages]
    picture, (axes,) = charts.panels(1, height=3.1, width=charts.NARROW)
    places = abscissae(names)
    charts.curve(axes, list(zip(places, points, strict=True)), charts.look(0), "")
    alone = {silo.name: silo.accuracy_alone for silo in summary.silos if silo.accuracy_alone is not None}
    ceilings = {"real data": summary.real_data_accuracy, "pooled": summary.pooled_accuracy}
    known = {name: value for name, value in ceilings.items() if value is not None}
    fitted = charts.fit_shares([axes], [*ends(points), *alone.values(), *known.values()])
    _levels(axes, alone, known)
    _name_stages(axes, places, names)
    drawn_or_asked = summary.measured_as in ("generated", "few_shot")
    charts.measured_in(axes, f"accuracy ({summary.classifier})" if drawn_or_asked else summary.classifier)
    caption = _key(alone, known, margins=any(one.half_width is not None for one in points)) + fitted
    return charts.figure(picture, "accuracy", message=_message(summary), caption=caption.strip())


def _measured(summary: RunSummary, stage: str) -> Mean:
    """The global model's accuracy, with its margin where it has one."""
    found = (
        score.margin.get(summary.classifier) for score in summary.scores if (score.stage, score.silo) == (stage, None)
    )
    return Mean(summary.accuracy[stage], next(found, None), 1)


def _message(summary: RunSummary) -> str:
    write = wording.percent if summary.few_shot else wording.share
    compared = {
        "the best silo alone": summary.best_silo_accuracy,
        "real data": summary.real_data_accuracy,
        "pooled data without privacy": summary.pooled_accuracy,
    }
    comparisons = "".join(f", {name} {write(value)}" for name, value in compared.items() if value is not None)
    return f"The global model reaches {write(summary.final_accuracy)}{comparisons}"


def _key(alone: Mapping[str, float], ceilings: Mapping[str, float], *, margins: bool) -> str:
    """The key: what the curve is, and the lines beside it."""
    words = "Line with dots: the global model"
    words += ", in the band of its 95 % confidence interval over tasks." if margins else "."
    if len(alone) > MOST_LEVELS:
        words += f" Grey band: where the {len(alone)} silos lie, each without the others."
    elif alone:
        words += " Dashed lines: each silo without the others."
    if "real data" in ceilings:
        words += " Solid line: the same classifier trained on real images."
    if "pooled" in ceilings:
        words += " Solid line: a model trained on everybody's records in one place, without privacy."
    return words


def _levels(axes: Axes, alone: Mapping[str, float], ceilings: Mapping[str, float]) -> None:
    """Levels to read the curve against; their names stand at the right, moved apart where they would overlap."""
    labels = [(f"{shorten(name)} {value:.2f}", value, "bold") for name, value in ceilings.items()]
    if len(alone) > MOST_LEVELS:
        least, most = min(alone.values()), max(alone.values())
        axes.axhspan(least, most, color=charts.GREY, alpha=0.2, linewidth=0)
        labels.append((f"{len(alone)} silos\n{least:.2f} to {most:.2f}", (least + most) / 2, "normal"))
    else:
        for name, value in alone.items():
            axes.axhline(value, color=charts.GREY, linestyle=(0, (3, 3)), linewidth=1.2)
            labels.append((f"{shorten(name)} {value:.2f}", value, "normal"))
    for value in ceilings.values():
        axes.axhline(value, color="black", linewidth=1.2)
    low, high = axes.get_ylim()
    placed = spread([value for _, value, _ in labels], LINE * (high - low))
    for (text, _, weight), y in zip(labels, placed, strict=True):
        axes.text(1.02, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=9, fontweight=weight)


def _name_stages(axes: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Write names below the phases and numbers below the rounds; of many rounds, below some."""
    rounds = {index: int(name.removeprefix("Round ")) for index, name in enumerate(names) if name.startswith("Round ")}
    last, every = len(names) - 1, len(rounds) // 6 + 1
    shown = [n for n in range(len(names)) if n not in rounds or n == last
             or (rounds[n] % every == 0 and last - n >= every)]  # fmt: skip
    labels = [names[n].removeprefix("Round ") if n in rounds else "\n".join(halves(names[n])) for n in shown]
    if rounds and shown:
        labels[-1] = f"round\n{labels[-1]}" if shown[-1] in rounds else labels[-1]
    axes.set_xticks([places[n] for n in shown], labels)
    axes.set_xlim(-0.06, 1.06)
    axes.grid(visible=False, axis="x")


def abscissae(labels: Sequence[str]) -> list[float]:
    """Positions in [0, 1]: the phases evenly apart, and the rounds between the two that they lie between."""
    phases = [index for index, label in enumerate(labels) if not label.startswith("Round ")]
    ends_of = sorted({0, len(labels) - 1, *phases}) if labels else []
    places = []
    for index in range(len(labels)):
        after = next(rank for rank, end in enumerate(ends_of) if end >= index)
        before = max(0, after - 1)
        gap = ends_of[after] - ends_of[before]
        places.append((before + (index - ends_of[before]) / gap if gap else 0.0) / max(1, len(ends_of) - 1))
    return places


def halves(label: str) -> list[str]:
    """The text in two lines, as even as its words allow; one where it is one word."""
    words = label.split(" ")
    cuts = [[" ".join(words[:place]), " ".join(words[place:])] for place in range(1, len(words))]
    return min(cuts, key=lambda lines: max(map(len, lines)), default=words)


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Positions of labels, moved apart to at least `gap`, around where they belong, in the order given."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    clusters: list[list[int]] = []
    placed = list(positions)
    for index in order:
        clusters.append([index])
        while len(clusters) > 1 and placed[clusters[-1][0]] - placed[clusters[-2][-1]] < gap:
            merged = clusters[-2] + clusters.pop()
            clusters[-1] = merged
            middle = sum(positions[member] for member in merged) / len(merged)
            for rank, member in enumerate(merged):
                placed[member] = middle + gap * (rank - (len(merged) - 1) / 2)
    return placed


def shorten(label: str, most: int = 12) -> str:
    """A label that fits into the margin."""
    return label if len(label) <= most else label[: most - 1] + "…"
