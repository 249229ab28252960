"""Bars of a run's report: bytes by phase and by silo, and seconds by phase."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from siloseal.report import charts, wording
from siloseal.report.document import Figure
from siloseal.run_folder.metrics import TimingMetric, TrafficMetric, phase_title

MOST_PARTS = len(charts.HATCHES)
"""Number of parts of a bar that a reader can tell apart."""
MOST_BARS = 24
MOST_NAMES = 3  # in the message over a chart
LETTERS = 16  # in a line of a bar's name

Stack = Mapping[str, Mapping[str, float]]
"""Lengths by bar and by part."""


def traffic_charts(entries: Sequence[TrafficMetric]) -> tuple[Figure, ...]:
    """Bytes by phase, and by silo."""
    weights: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        weights[phase_title(entry.stage), entry.silo] += entry.sent_bytes + entry.received_bytes
    phases = list(dict.fromkeys(phase_title(entry.stage) for entry in entries))
    silos = list(dict.fromkeys(entry.silo for entry in entries))
    by_phase = {phase: {silo: float(weights[phase, silo]) for silo in silos} for phase in phases}
    by_silo = {silo: {phase: float(weights[phase, silo]) for phase in phases} for silo in silos}
    found = (("traffic-phases", "phase", by_phase), ("traffic-silos", "silo", by_silo))
    return tuple(_byte_bars(name, kind, stack) for name, kind, stack in found if stack)


def _byte_bars(name: str, kind: str, stack: Stack) -> Figure:
    totals = {bar: sum(parts.values()) for bar, parts in stack.items()}
    shown = sorted(totals, key=lambda bar: -totals[bar])[:MOST_BARS]
    kept = {bar: stack[bar] for bar in stack if bar in shown}
    unit, unit_name = wording.byte_unit(max(totals.values()))
    caption = "; ".join(f"{bar} {wording.size(totals[bar])}" for bar in kept) + "."
    caption += f" Of {len(totals)}, those with the most bytes; the table has all." if len(kept) < len(totals) else ""
    written = {bar: wording.size(totals[bar]) for bar in kept}
    scaled = {bar: {part: value / unit for part, value in parts.items()} for bar, parts in kept.items()}
    return bars(
        name,
        scaled,
        written,
        label=f"sent and received ({unit_name})",
        message=_most_bytes(kind, totals),
        caption=caption,
    )


def _most_bytes(kind: str, totals: Mapping[str, float]) -> str:
    """Which bars are the longest. Those that are written alike are equal for a reader."""
    most = wording.size(max(totals.values()))
    longest = [bar for bar, total in totals.items() if wording.size(total) == most]
    if len(longest) == len(totals) > 1:
        return f"By {kind}: each {kind} {most}"
    whose = wording.listed(longest) if len(longest) <= MOST_NAMES else f"{len(longest)} of {len(totals)} {kind}s"
    return f"By {kind}: most bytes, {most}, are those of {whose}"


def timing_chart(entries: Iterable[TimingMetric]) -> Figure | None:
    """Seconds by phase; None where none were measured."""
    seconds = {phase_title(entry.stage): entry.seconds for entry in entries}
    if not seconds:
        return None
    written = {phase: wording.duration(value) for phase, value in seconds.items()}
    longest = max(seconds, key=lambda phase: seconds[phase])
    stack = {phase: {"": value} for phase, value in seconds.items()}
    caption = "; ".join(f"{phase} {text}" for phase, text in written.items()) + "."
    return bars("timings", stack, written, label="wall-clock time (s)", caption=caption,
                message=f"{longest} takes longest: {written[longest]}")  # fmt: skip


def bars(name: str, stack: Stack, written: Mapping[str, str], *, label: str, message: str, caption: str) -> Figure:
    """Stacked bars from zero, each with its total at its end; of many parts only the totals."""
    parts = list(dict.fromkeys(part for of in stack.values() for part in of))
    if len(parts) > MOST_PARTS:
        stack, parts = {bar: {"": sum(of.values())} for bar, of in stack.items()}, [""]
    picture, (axes,) = charts.panels(
        1, height=1.4 + charts.row_inches(stack, LETTERS) * len(stack), width=charts.NARROW
    )
    begin = dict.fromkeys(stack, 0.0)
    for index, part in enumerate(parts):
        widths = [of.get(part, 0.0) for of in stack.values()]
        axes.barh(range(len(stack)), widths, left=list(begin.values()), height=0.62, label=part or None,
                  color=charts.COLOURS[index], edgecolor="white", hatch=charts.HATCHES[index])  # fmt: skip
        begin = {bar: start + width for (bar, start), width in zip(begin.items(), widths, strict=True)}
    for place, (bar, end) in enumerate(begin.items()):
        axes.annotate(written[bar], (end, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
    charts.name_rows(axes, list(stack), width=LETTERS)
    longest = max(begin.values()) or 1.0
    axes.set_xlim(0, 1.28 * longest)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= longest])  # one at the edge would be cut
    axes.set_xlabel(label)
    if len(parts) > 1:
        charts.legend(picture)
    return charts.figure(picture, name, message=message, caption=caption)
