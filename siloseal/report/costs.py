"""The chapters of a run's report about what travelled, how long it took, and what it rests on."""

from siloseal.report.cost_charts import timing_chart, traffic_charts
from siloseal.report.document import Block, Cell, Chapter, Paragraph, Table
from siloseal.run_folder.metrics import phase_title
from siloseal.run_folder.run import Run


def uploads(run: Run) -> Chapter:
    """What travelled, and whether the aggregator could read it."""
    rows = tuple(
        (
            phase_title(upload.stage),
            upload.what,
            Cell("Hidden", tone="good") if upload.hidden_from_aggregator else Cell("Not hidden", tone="bad"),
            upload.note,
            upload.scheme,
        )
        for upload in run.protection
    )
    columns = ("Phase", "What", "From the aggregator", "Which means", "Secure sum")
    body: Block = Table("", columns, rows) if rows else Paragraph("None recorded.")
    return Chapter("uploads", "Uploads", "What left the silos, and how each upload was protected on its way.", (body,))


def traffic(run: Run) -> Chapter:
    """Bytes by phase and by silo."""
    entries = run.traffic
    rows = tuple(
        (entry.silo, phase_title(entry.stage), f"{entry.sent_bytes:,}", f"{entry.received_bytes:,}")
        for entry in entries
    )
    columns = ("Silo", "Phase", "Bytes sent", "Bytes received")
    table = Table("Every count", columns, rows, numbers=(2, 3), folded=True)
    blocks: tuple[Block, ...] = (*traffic_charts(entries), table)
    return Chapter("traffic", "Traffic", "Bytes that each silo sent and received.", blocks)


def timings(run: Run) -> Chapter:
    """Seconds by phase."""
    chart = timing_chart(run.timing)
    body: Block = Paragraph("None recorded.") if chart is None else chart
    return Chapter("timings", "Timings", "Wall-clock time by phase, as measured.", (body,))


def parameters(run: Run) -> Chapter:
    """What the guarantees rest on."""
    rows = tuple(run.summary.parameters.items())
    table = Table("", ("Parameter", "Value"), rows)
    return Chapter("parameters", "Parameters", "What the guarantees above rest on.", (table,))
