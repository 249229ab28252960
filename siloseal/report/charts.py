"""Charts as hand-written SVG.

Horizontal positions are percentages and text is in pixels, so a chart fills the width that it is given and its labels
stay legible on a phone. Colours are classes of report.css, so charts follow the light and the dark scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

TINTS = 5  # how many shades of the accent report.css defines: tint-0 ... tint-4


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A level to read a curve against. The emphasis tells the real data, or all data in one place, from a silo."""

    label: str
    value: float
    strong: bool
    detail: str = ""
    """Goes on with the label where there is room."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: parts of (label, value), stacked in order, and how the total is written."""

    label: str
    parts: Sequence[tuple[str, float]]
    total: str


def curve(points: Sequence[tuple[str, float]], references: Sequence[ReferenceLine]) -> str:
    """Accuracy over stages, from 0 to 1, with reference lines whose names stand in the right margin."""
    height, ticks = 280, (0.0, 0.25, 0.5, 0.75, 1.0)

    def y(value: float) -> float:
        return round(height * (1 - value), 1)

    places = [f"{5 + 90 * place:.2f}%" for place in abscissae([label for label, _ in points])]

    def x(index: int) -> str:
        return places[index]

    shapes = [
        f'<line class="gridline" x1="0" x2="100%" y1="{y(t)}" y2="{y(t)}"/>'
        f'<text class="tick" x="-10" y="{y(t) + 4}" text-anchor="end">{t:.2f}</text>'
        for t in ticks
    ]
    for line, label_y in zip(references, spread([y(line.value) for line in references], 15.0), strict=True):
        kind = "ceiling" if line.strong else "reference"
        shapes.append(
            f'<line class="{kind}" x1="0" x2="100%" y1="{y(line.value)}" y2="{y(line.value)}"/>'
            f'<text class="{kind}-label" x="100%" dx="8" y="{label_y + 4:.1f}">{escape(shorten(line.label))}'
            f"{detail(line)} {line.value:.2f}<title>{escape(line.label + line.detail)}</title></text>"
        )
    for index in range(len(points) - 1):
        start, end = points[index][1], points[index + 1][1]
        shapes.append(f'<line class="curve" x1="{x(index)}" y1="{y(start)}" x2="{x(index + 1)}" y2="{y(end)}"/>')
    for index, (label, value) in enumerate(points):
        shapes.append(
            f'<circle class="dot" cx="{x(index)}" cy="{y(value)}" r="4.5"><title>{escape(label)}: {value:.3f}'
            f"</title></circle>{value_label(points, index, x(index), y(value))}"
            f"{stage_label(label, index, len(points), x(index), height)}"
        )
    wide = " wide" if any(line.detail for line in references) else ""
    return (
        f'<div class="curve-frame{wide}"><svg class="chart" role="img" aria-label="Accuracy over stages" width="100%" '
        f'height="{height + 44}">{"".join(shapes)}</svg></div>'
    )


def detail(line: ReferenceLine) -> str:
    """Not drawn on a phone."""
    return f'<tspan class="detail">{escape(line.detail)}</tspan>' if line.detail else ""


def abscissae(labels: Sequence[str]) -> list[float]:
    """Positions in [0, 1]: the phases evenly apart, and the rounds between the two that they lie between."""
    phases = [index for index, label in enumerate(labels) if not label.startswith("Round ")]
    ends = sorted({0, len(labels) - 1, *phases}) if labels else []
    places = []
    for index in range(len(labels)):
        after = next(rank for rank, end in enumerate(ends) if end >= index)
        before = max(0, after - 1)
        gap = ends[after] - ends[before]
        places.append((before + (index - ends[before]) / gap if gap else 0.0) / max(1, len(ends) - 1))
    return places


def value_label(points: Sequence[tuple[str, float]], index: int, x: str, y: float) -> str:
    """The phases carry their number; a number on every round would be a thicket."""
    if points[index][0].startswith("Round ") and index < len(points) - 1:
        return ""
    return f'<text class="value" x="{x}" y="{y - 12:.1f}" text-anchor="middle">{points[index][1]:.2f}</text>'


def stage_label(label: str, index: int, count: int, x: str, height: int) -> str:
    """A phase on two lines; rounds by number, only every nth of many, and none beside the last phase."""
    lines = halves(label)
    kind = "tick"
    if lines[0] == "Round":
        if int(lines[1]) % max(1, (count - 3) // 6 + 1) or index == count - 2:
            return ""
        kind, lines = "tick round", lines[1:]
    spans = "".join(f'<tspan x="{x}" dy="{0 if n == 0 else 14}">{escape(word)}</tspan>' for n, word in enumerate(lines))
    return f'<text class="{kind}" y="{height + 20}" text-anchor="middle">{spans}</text>'


def halves(label: str) -> list[str]:
    """Two lines, as even as its words allow; one where it is one word."""
    words = label.split(" ")
    cuts = [[" ".join(words[:place]), " ".join(words[place:])] for place in range(1, len(words))]
    return min(cuts, key=lambda lines: max(map(len, lines)), default=words)


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Label positions moved apart to at least `gap`, around where they belong, in the order given."""
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


def bars(rows: Sequence[Bar], *, legend: Sequence[str]) -> str:
    """Stacked horizontal bars on one scale, with a legend where there is more than one kind of part."""
    largest = max((sum(value for _, value in row.parts) for row in rows), default=0) or 1
    drawn = []
    for row in rows:
        left, shapes = 0.0, []
        for label, value in row.parts:
            width = 100 * value / largest
            shapes.append(
                f'<rect class="{tint(legend, label)}" x="{left:.3f}%" y="0" width="{width:.3f}%" height="14">'
                f"<title>{escape(label)}</title></rect>"
            )
            left += width
        drawn.append(
            f'<div class="bar-label">{escape(row.label)}</div>'
            f'<svg class="bar" width="100%" height="14" role="img" aria-label="{escape(row.label)}: '
            f'{escape(row.total)}">{"".join(shapes)}</svg><div class="bar-total">{escape(row.total)}</div>'
        )
    keys = "".join(f'<span><i class="{tint(legend, name)}"></i>{escape(name)}</span>' for name in legend)
    return f'<div class="bars">{"".join(drawn)}</div>' + (f'<p class="legend">{keys}</p>' if len(legend) > 1 else "")


def tint(legend: Sequence[str], label: str) -> str:
    """The shade that a part has in its legend."""
    return f"tint-{legend.index(label) % TINTS if label in legend else 0}"


def meter(share: float) -> str:
    """A thin bar from 0 to 1; beyond 1 it is full and in the warning colour."""
    kind = "meter over" if share > 1 else "meter"
    return (
        f'<svg class="{kind}" width="100%" height="5" aria-hidden="true"><rect class="track" width="100%" height="5"/>'
        f'<rect class="level" width="{100 * min(1.0, share):.1f}%" height="5"/></svg>'
    )


def shorten(label: str, most: int = 12) -> str:
    """A label that fits into the margin."""
    return label if len(label) <= most else label[: most - 1] + "…"
