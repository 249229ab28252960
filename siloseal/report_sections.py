"""The sections of the report about what was learnt and what it cost in privacy, one function each."""

import base64
from html import escape

from siloseal import report_charts as charts
from siloseal import wording
from siloseal.images import class_rows, png_bytes, read_npz
from siloseal.metrics import NoteMetric, PrivacyMetric, QualityMetric, phase_title, stage_title
from siloseal.report_markup import section, table
from siloseal.summary import Run


def samples(run: Run) -> str:
    """Pictures of what the models draw."""

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
    summary = run.summary
    references = [
        charts.ReferenceLine(silo.name, silo.accuracy_alone, strong=False)
        for silo in summary.silos
        if silo.accuracy_alone is not None
    ]
    if summary.real_data_accuracy is not None:
        references.append(charts.ReferenceLine("real data", summary.real_data_accuracy, strong=True))
    stages = [stage for stage in summary.accuracy if stage != "final"]  # which is the last of them
    curve = charts.curve([(stage_title(stage), summary.accuracy[stage]) for stage in stages], references)
    measured = run.of(QualityMetric)
    names = list(dict.fromkeys(name for metric in measured for name in metric.accuracy))
    rows = [
        [escape(stage_title(metric.stage)), escape(metric.silo or "global" if metric.stage != "real" else ""),
         *(wording.share(metric.accuracy.get(name)) for name in names), f"{metric.frechet:.2f}"]
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
    rows = []
    for silo in run.summary.silos:
        spent = wording.epsilon(silo.epsilon)
        if silo.epsilon is not None and silo.budget:
            spent += f" of {silo.budget:g}{charts.meter(silo.epsilon / silo.budget)}"
        rows.append([
            f"<strong>{escape(silo.name)}</strong>", f"{silo.examples:,}", escape(wording.classes(silo.labels)), spent,
            wording.share(silo.accuracy_alone), wording.share(silo.accuracy_trained),
        ])  # fmt: skip
    columns = ["Silo", "Examples", "Classes declared", "Epsilon spent", "Accuracy alone", "After local training"]
    return section("silos", "Silos", "What each institution brought, spent, and would have had by itself.",
                   table(columns, rows, numbers=(1, 3, 4, 5)))  # fmt: skip


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
    summary, texts = run.summary, [note.text for note in run.of(NoteMetric)]
    final, best = summary.final_accuracy, summary.best_silo_accuracy
    if final is not None and best is not None and final <= best:
        texts.append(f"In this run the global model ({final:.3f}) did not beat the best silo alone ({best:.3f}).")
    texts += [
        "The quality numbers come from held-out real images without noise. They lie outside the privacy guarantee, and "
        "nothing that they show flowed back to training.",
        "One run with one seed: accuracies that differ by less than 0.03 should be read as equal.",
        "The Fréchet distance uses a small classifier's features. It is not the FID of the literature, and compares "
        "only within one run.",
    ]
    body = "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
    return section("notes", "Notes", "What to keep in mind before quoting a number.", body)
