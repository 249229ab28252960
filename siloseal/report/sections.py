"""The sections of the report about what was learnt and what it cost in privacy, one function each."""

import base64
from html import escape

from siloseal.report import charts as charts
from siloseal.report import wording
from siloseal.report import words as words
from siloseal.report.document import Cell, text_of
from siloseal.report.markup import section, table
from siloseal.report.score_table import TITLE, score_table, stage_name
from siloseal.report.silo_table import silo_table
from siloseal.runs.images import class_rows, png_bytes, read_npz
from siloseal.runs.metrics import NoteMetric, PrivacyMetric, QualityMetric, phase_title, stage_title
from siloseal.runs.summary import Run, RunSummary


def samples(run: Run) -> str:
    """Pictures of what the models draw; nothing where they draw none."""
    if run.summary.few_shot:
        return ""

    def picture(stage: str, silo: str | None, caption: str) -> str:
        images, labels = read_npz(run.samples[stage, silo])
        data = base64.b64encode(png_bytes(class_rows(images, labels, columns=8), scale=2)).decode()
        return (
            f'<figure><img alt="Generated samples, {escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    shared = [picture(s, None, stage_title(s)) for s in ("warm_start", "phase_1", "final") if (s, None) in run.samples]
    names = [silo.name for silo in run.summary.silos]
    own = [picture("silo_trained", name, name) for name in names if ("silo_trained", name) in run.samples]
    body = f'<div class="figures">{"".join(shared)}</div>' if shared else "<p>This run kept no samples.</p>"
    if own:
        body += f'<h3>Each silo\'s own model after phase 1</h3><div class="figures small">{"".join(own)}</div>'
    return section("samples", "Samples", "Generated images, one row a class, before and after each phase.", body)


def quality(run: Run) -> str:
    """The curve of accuracy over stages, and every measurement."""
    return _quality_of_tasks(run.summary) if run.summary.few_shot else _quality_of_images(run)


def _quality_of_tasks(summary: RunSummary) -> str:
    scores = score_table(summary)
    rows = [
        [f"<span{' class=opens' if place in scores.groups else ''}>{escape(text_of(row[0]))}</span>",
         *map(text_of, row[1:])]
        for place, row in enumerate(scores.rows)
    ]  # fmt: skip
    every = table(scores.columns, rows, numbers=scores.numbers)
    lead = f"Accuracy of the global model in {summary.classifier} tasks of classes that nobody trained on."
    if any(silo.accuracy_alone is not None for silo in summary.silos):
        lead += " Dashed lines: each silo without the others."
    if summary.pooled_accuracy is not None:
        lead += " Solid line: a model trained on everybody's images in one place, without privacy."
    return section(
        "quality", "Quality", lead,
        f'{_curve(summary)}<h3>{TITLE}</h3><p class="lead">{escape(scores.note)}</p>'
        f'<div class="dense">{every}</div>',
    )  # fmt: skip


def _curve(summary: RunSummary) -> str:
    """Accuracy over stages, with what to compare it with."""
    references = [
        charts.ReferenceLine(silo.name, silo.accuracy_alone, strong=False)
        for silo in summary.silos
        if silo.accuracy_alone is not None
    ]
    if summary.real_data_accuracy is not None:
        references.append(charts.ReferenceLine("real data", summary.real_data_accuracy, strong=True))
    if summary.pooled_accuracy is not None:
        references.append(charts.ReferenceLine("pooled", summary.pooled_accuracy, strong=True, detail=", no privacy"))
    stages = [stage for stage in summary.accuracy if stage != "final"]  # which is the last of them
    return charts.curve([(stage_name(stage, summary), summary.accuracy[stage]) for stage in stages], references)


def _quality_of_images(run: Run) -> str:
    summary, curve, measured = run.summary, _curve(run.summary), run.of(QualityMetric)
    names = list(dict.fromkeys(name for metric in measured for name in metric.accuracy))
    rows = [
        [escape(stage_title(metric.stage)), escape(metric.silo or "global" if metric.stage != "real" else ""),
         *(wording.share(metric.accuracy.get(name)) for name in names),
         "" if metric.frechet is None else f"{metric.frechet:.2f}"]
        for metric in measured
    ]  # fmt: skip
    every = table(["Stage", "Model", *names, "Fréchet distance"], rows, numbers=range(2, len(names) + 3))
    return section(
        "quality", "Quality",
        f"Accuracy on real, held-out images of a {summary.classifier} classifier that saw only generated ones. Dashed "
        "lines: each silo without the others; solid line: the same classifier trained on real images.",
        f'{curve}<details><summary>Every measurement</summary>{every}</details>',
    )  # fmt: skip


def silos(run: Run) -> str:
    """One row a silo."""
    silos = silo_table(run.summary)
    rows = [[_silo_cell(cell) for cell in row] for row in silos.rows]
    return section("silos", "Silos", "What each institution brought, spent, and would have had by itself.",
                   table(silos.columns, rows, numbers=silos.numbers))  # fmt: skip


def _silo_cell(cell: str | Cell) -> str:
    filled = cell.filled if isinstance(cell, Cell) else None
    return escape(text_of(cell)) + ("" if filled is None else charts.meter(filled))


def privacy(run: Run) -> str:
    """A statement a silo, and what its ledger says."""
    statements = "".join(
        f"<blockquote><cite>{escape(silo.name)}</cite>{escape(silo.statement)}</blockquote>"
        for silo in run.summary.silos
    )

    def plain(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    entries = run.of(PrivacyMetric)
    first = {entry.silo: index for index, entry in reversed(list(enumerate(entries)))}  # where a silo's name is shown
    rows = [
        [f"<strong>{escape(entry.silo)}</strong>" if first[entry.silo] == index else "", phase_title(entry.phase),
         escape(wording.epsilon(entry.epsilon)), escape(wording.delta(entry.delta)),
         plain(entry.noise_multiplier, ".3f"), plain(entry.sampling_rate, ".4f"), plain(entry.steps, ",")]
        for index, entry in enumerate(entries)
    ]  # fmt: skip
    columns = ["Silo", "Phase", "Epsilon", "Delta", "Noise multiplier", "Sampling rate", "Steps"]
    ledger = table(columns, rows, numbers=range(2, 7)) if rows else "<p>No silo's ledger holds an entry.</p>"
    lead = "One line a silo to quote, then its ledger. Phases are composed: a total is at most the sum of its parts."
    return section("privacy", "Privacy", lead, f"{statements}<h3>Ledger by phase</h3><div class='dense'>{ledger}</div>")


def notes(run: Run) -> str:
    """What the run noted, and what holds for every run."""
    texts = [note.text for note in run.of(NoteMetric)]
    if (lost := words.lost_to_a_silo(run.summary)) is not None:
        texts.append(lost)
    texts += words.standing_notes(run.summary)
    body = "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
    return section("notes", "Notes", "What to keep in mind before quoting a number.", body)
