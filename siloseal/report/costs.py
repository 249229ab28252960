"""The sections of the report about what travelled, how long it took, and what it rests on."""

from collections import Counter
from html import escape

from siloseal.report import charts as charts
from siloseal.report import wording
from siloseal.report.markup import section, table
from siloseal.runs.metrics import ProtectionMetric, TimingMetric, TrafficMetric, phase_title
from siloseal.runs.summary import Run

PHASES = ("enrolment", "warm_start", "phase_1", "phase_2", "fedavg")


def uploads(run: Run) -> str:
    """What travelled, and whether the aggregator could read it."""
    rows = []
    for upload in run.of(ProtectionMetric):
        hidden = upload.hidden_from_aggregator
        badge = '<span class="badge">Hidden</span>' if hidden else '<span class="badge bad">Not hidden</span>'
        rows.append([
            badge, phase_title(upload.stage),
            f'{escape(upload.what)}<div class="{"fine" if hidden else "fine bad"}">{escape(upload.note)}</div>'
            f'<div class="fine"><code>{escape(upload.scheme)}</code></div>',
        ])  # fmt: skip
    columns = ["From the aggregator", "Phase", "What, and by which sum"]
    body = table(columns, rows, numbers=()) if rows else "<p>None recorded.</p>"
    return section("uploads", "Uploads", "What left the silos, and how each upload was protected on its way.", body)


def traffic(run: Run) -> str:
    """Bytes by phase and by silo."""
    entries = run.of(TrafficMetric)
    phases = [phase for phase in PHASES if any(entry.stage == phase for entry in entries)]
    names = list(dict.fromkeys(entry.silo for entry in entries))

    weights: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        weights[entry.stage, entry.silo] += entry.sent_bytes + entry.received_bytes

    def bar(label: str, parts: list[tuple[str, float]]) -> charts.Bar:
        return charts.Bar(label, parts, wording.size(sum(value for _, value in parts)))

    by_phase = [bar(phase_title(phase), [(name, weights[phase, name]) for name in names]) for phase in phases]
    by_silo = [bar(name, [(phase_title(phase), weights[phase, name]) for phase in phases]) for name in names]
    rows = [
        [escape(entry.silo), phase_title(entry.stage), f"{entry.sent_bytes:,}", f"{entry.received_bytes:,}"]
        for entry in entries
    ]
    body = (
        f'<div class="columns"><div><h3>By phase</h3>{charts.bars(by_phase, legend=names)}</div>'
        f"<div><h3>By silo</h3>{charts.bars(by_silo, legend=[phase_title(phase) for phase in phases])}</div></div>"
        "<details><summary>Every count</summary>"
        f"{table(['Silo', 'Phase', 'Bytes sent', 'Bytes received'], rows, numbers=(2, 3))}</details>"
    )
    return section("traffic", "Traffic", "Bytes sent and received, as the silos count them.", body)


def timings(run: Run) -> str:
    """Seconds by phase."""
    rows = [
        charts.Bar(phase_title(entry.stage), [("", entry.seconds)], wording.duration(entry.seconds))
        for entry in run.of(TimingMetric)
    ]
    return section("timings", "Timings", "Wall-clock time by phase, as measured.", charts.bars(rows, legend=[]))


def parameters(run: Run) -> str:
    """What the guarantees rest on."""
    rows = [[escape(name), f"<code>{escape(value)}</code>"] for name, value in run.summary.parameters.items()]
    return section("parameters", "Parameters", "What the guarantees above rest on.",
                   table(["Parameter", "Value"], rows, numbers=()))  # fmt: skip
