"""The report of a run: one HTML file that needs nothing beside it.

It is printed, mailed and archived, so it loads no script, font, style or image from anywhere: pictures are data URIs,
charts are inline SVG, and a content security policy in the page forbids the rest. All text goes through `escape`.
"""

import math
from html import escape
from importlib import resources
from pathlib import Path

from federation.accounting import MEANINGLESS_EPSILON
from federation.storage import write_atomically
from siloseal import report_costs as costs
from siloseal import report_sections as sections
from siloseal import wording
from siloseal.metrics import ProtectionMetric
from siloseal.summary import Run, RunSummary, read_run

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write_report(run_dir: Path) -> Path:
    """Reads a finished run and writes report.html into its folder."""
    run = read_run(run_dir)
    path = run_dir / "report.html"
    write_atomically(path, page(run).encode())
    return path


def page(run: Run) -> str:
    """The whole document."""
    style = resources.files("siloseal").joinpath("report.css").read_text(encoding="utf-8")
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
        f'<p class="warning"><strong>In clear:</strong> the aggregator could read single silos\' uploads '
        f'({named}). See <a href="#uploads">Uploads</a>.</p>'
    )
    return (
        f'<header><p class="eyebrow">SiloSeal report</p><h1>{escape(summary.name)}</h1></header>\n'
        f'{cards(summary)}\n{warning if open_uploads else ""}\n<section class="guide"><h2>How to read this</h2>'
        f"<p>{escape(guide(summary))}</p></section>"
    )


def cards(summary: RunSummary) -> str:
    """The headline numbers."""
    epsilon = wording.epsilon(summary.epsilon)
    shown = [
        ("Accuracy, global model", wording.share(summary.final_accuracy), f"{summary.classifier} classifier", "main"),
        ("Best silo alone", wording.share(summary.best_silo_accuracy), "accuracy without the others", ""),
        ("Real data", wording.share(summary.real_data_accuracy), "accuracy, the ceiling", ""),
        ("Epsilon", epsilon, "largest of any silo", ""),
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


def guide(summary: RunSummary) -> str:
    """Three sentences for the person who answers for the data."""
    together = (
        f"{len(summary.silos)} institutions trained one model that draws artificial images, and each kept its own "
        "records in its own house: only models and statistics travelled."
    )
    alone = (
        ""
        if summary.best_silo_accuracy is None
        else f"{wording.share(summary.best_silo_accuracy)} for the best institution on its own, "
    )
    quality = (
        "Accuracy is how often a program that has seen only artificial images names real, unseen ones rightly: "
        f"{wording.share(summary.final_accuracy)} for the joint model, {alone}"
        f"and {wording.share(summary.real_data_accuracy)} with real records instead."
    )
    return f"{together} {quality} {privacy_sentence(summary)}"


def privacy_sentence(summary: RunSummary) -> str:
    """What epsilon means here, without comfort that it does not give."""
    if summary.epsilon is None or summary.delta is None:
        return "Differential privacy was off, so nothing bounds what the model may reveal about a single record."
    unit = summary.parameters.get("unit of privacy", "one example")
    if summary.epsilon > MEANINGLESS_EPSILON:
        return (
            f"Epsilon bounds what can be learnt about {unit}, but at {summary.epsilon:.0f} the bound is "
            "too weak to mean anything: treat this model as if it had no such guarantee."
        )
    factor = math.ceil(100 * math.exp(summary.epsilon)) / 100
    return (
        f"Epsilon {wording.epsilon(summary.epsilon)} bounds what can be learnt about {unit} from what "
        f"was released: its presence changes the odds of any outcome at most {factor:,.{2 if factor < 10 else 0}f}-fold"
        f" (delta {wording.delta(summary.delta)} aside), so smaller is safer, and about 1 counts as strong."
    )
