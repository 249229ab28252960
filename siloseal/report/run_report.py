"""The report of a run: one HTML file that needs nothing beside it.

It is printed, mailed and archived, so it loads no script, font, style or image from anywhere: pictures are data URIs,
charts are inline SVG, and a content security policy in the page forbids the rest. All text goes through `escape`.
"""

from html import escape
from importlib import resources
from pathlib import Path

from siloseal.federation.records.storage import write_atomically
from siloseal.report import costs as costs
from siloseal.report import sections as sections
from siloseal.report import wording
from siloseal.report.score_table import headline
from siloseal.report.words import guide
from siloseal.runs.metrics import ProtectionMetric
from siloseal.runs.summary import Run, RunSummary, read_run

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

Card = tuple[str, str, str, str]
"""Title, value, note, and a class of report.css."""


def write_report(run_dir: Path) -> Path:
    """Reads a finished run and writes report.html into its folder."""
    run = read_run(run_dir)
    path = run_dir / "report.html"
    write_atomically(path, page(run).encode())
    return path


def page(run: Run) -> str:
    """The whole document."""
    style = resources.files("siloseal.report").joinpath("report.css").read_text(encoding="utf-8")
    body = "\n".join((
        header(run),
        sections.samples(run),
        sections.quality(run),
        sections.silos(run),
        sections.privacy(run),
        costs.uploads(run),
        costs.traffic(run),
        costs.timings(run),
        costs.parameters(run),
        sections.notes(run),
    ))  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(run.summary.name)} · SiloSeal report</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n<footer>SiloSeal · {escape(run.summary.run_dir)}</footer>\n</main>\n</body>\n"
        "</html>\n"
    )


def header(run: Run) -> str:
    """Headline numbers, a warning where one is due, and how to read the rest."""
    summary = run.summary
    open_uploads = [upload for upload in run.of(ProtectionMetric) if not upload.hidden_from_aggregator]
    named = escape("; ".join(upload.what for upload in open_uploads))
    warning = (
        f'<p class="warning"><strong>Not hidden:</strong> the aggregator could read single silos\' uploads '
        f'({named}). See <a href="#uploads">Uploads</a>.</p>'
    )
    return (
        f'<header><p class="eyebrow">SiloSeal report</p><h1>{escape(summary.name)}</h1></header>\n'
        f'{cards(summary)}\n{warning if open_uploads else ""}\n<section class="guide"><h2>How to read this</h2>'
        f"<p>{escape(guide(summary))}</p></section>"
    )


def cards(summary: RunSummary) -> str:
    """The headline numbers."""
    shown = [
        *(task_cards(summary) if summary.few_shot else image_cards(summary)),
        ("Epsilon", wording.epsilon(summary.epsilon), "largest of any silo", ""),
        ("Delta", wording.delta(summary.delta), "chance the bound may fail", ""),
        ("Traffic", wording.size(summary.bytes), f"{summary.bytes:,} bytes in all", ""),
        ("Duration", wording.duration(summary.seconds), f"{len(summary.silos)} silos", ""),
    ]
    return '<div class="cards">' + "".join(
        f'<div class="card {kind}"><div class="card-title">{escape(title)}</div>'
        f'<div class="card-value{" long" if len(value) > 12 else ""}">{escape(value)}</div>'
        f'<div class="card-note">{escape(note)}</div></div>'
        for title, value, note, kind in shown
    ) + "</div>"  # fmt: skip


def image_cards(summary: RunSummary) -> tuple[Card, ...]:
    """How good the generated images are."""
    return (
        ("Accuracy, global model", wording.share(summary.final_accuracy), f"{summary.classifier} classifier", "main"),
        ("Best silo alone", wording.share(summary.best_silo_accuracy), "accuracy without the others", ""),
        ("Real data", wording.share(summary.real_data_accuracy), "accuracy, the ceiling", ""),
    )


def task_cards(summary: RunSummary) -> tuple[Card, ...]:
    """How well new tasks are learnt."""
    return (
        ("Accuracy, global model", headline(summary, "final"), summary.classifier, "main"),
        ("Best silo alone", headline(summary, "silo_alone"), "accuracy without the others", ""),
        ("Pooled, without privacy", headline(summary, "pooled"), "accuracy with all images in one place", ""),
    )
