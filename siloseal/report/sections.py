"""The chapters of a run's report about what was learnt and what it cost in privacy."""

from typing import assert_never

from siloseal.federation.analytics.answers import INTERVALS
from siloseal.federation.job.phases import Phase
from siloseal.report import sentences, wording
from siloseal.report.accuracy_chart import accuracy_chart
from siloseal.report.answer_table import answer_table
from siloseal.report.classifier_tables import class_table, confusion_table, served_table
from siloseal.report.document import Block, Chapter, Notes, Paragraph, Quotes, Table, Tiles
from siloseal.report.reliability_chart import reliability_chart
from siloseal.report.score_table import score_table
from siloseal.report.silo_table import silo_table
from siloseal.run_folder.images import class_rows, png_bytes, read_npz
from siloseal.run_folder.metrics import PrivacyMetric, phase_title, stage_title
from siloseal.run_folder.run import Run
from siloseal.run_folder.summary import RunSummary

TILE = 32
"""Number of pixels, about, that one generated image takes on the page."""
COLUMNS = 8


def samples(run: Run) -> Chapter:
    """Pictures of what the models draw."""
    stages = [stage for stage in (Phase.WARM_START, Phase.PHASE_1, "final") if (stage, None) in run.samples]
    names = [silo.name for silo in run.summary.silos if ("silo_trained", silo.name) in run.samples]
    shared = tuple((stage_title(stage), _grid(run, stage, None)) for stage in stages)
    own = tuple((name, _grid(run, "silo_trained", name)) for name in names)
    blocks: list[Block] = [Tiles("", shared) if shared else Paragraph("This run kept no samples.")]
    blocks += [Tiles("Each silo's own model after phase 1", own)] if own else []
    lead = "Generated images, one row a class, before and after each phase."
    return Chapter("samples", "Samples", lead, tuple(blocks))


def _grid(run: Run, stage: str, silo: str | None) -> bytes:
    images, labels = read_npz(run.samples[stage, silo])
    return png_bytes(class_rows(images, labels, columns=COLUMNS), scale=max(1, TILE // images.shape[-1]))


def quality(run: Run) -> Chapter:
    """The curve of accuracy over stages, and every measurement."""
    summary = run.summary
    if summary.at_aggregator:
        return Chapter("quality", "Quality", "Not known at the aggregator, which holds no data to measure it on.", ())
    lead, blocks = _measured(run)
    if not summary.accuracy:
        return Chapter("quality", "Quality", lead, (Paragraph("No accuracy was measured."), *blocks))
    # Where each silo has a part of its own, only the models at the end are whole, and there is no curve.
    return Chapter("quality", "Quality", lead, blocks if summary.personal else (accuracy_chart(summary), *blocks))


def _measured(run: Run) -> tuple[str, tuple[Block, ...]]:
    """What was measured, in a sentence, and all of it."""
    summary = run.summary
    match summary.measured_as:
        case "generated":
            lead, table = _of_images(run)
            return lead, (table,)
        case "few_shot":
            lead = f"Accuracy of the global model in {summary.classifier} tasks of classes that nobody trained on."
            return lead, (score_table(summary),)
        case "classification":
            return "How well the model names held-out records that nobody trained on.", _of_records(summary)
        case "own" if not summary.accuracy:
            return "The learner has no measure of its own.", ()
        case "own":
            return "What the learner itself says of held-out records that nobody trained on.", (score_table(summary),)
        case _:
            assert_never(summary.measured_as)


def _of_records(summary: RunSummary) -> tuple[Block, ...]:
    """A classifier's confidence beside its accuracy, then its numbers by model, by silo and by class."""
    details = summary.details
    chart = [reliability_chart(details)] if details is not None and details.reliability else []
    tables = (served_table(summary), score_table(summary), class_table(summary), confusion_table(summary))
    return (*chart, *(table for table in tables if table is not None))


def _of_images(run: Run) -> tuple[str, Table]:
    measured = run.quality
    names = list(dict.fromkeys(name for metric in measured for name in metric.accuracy))
    rows = tuple(
        (
            stage_title(metric.stage),
            metric.silo or ("" if metric.stage == "real" else "global"),
            *(wording.share(metric.accuracy.get(name)) for name in names),
            "" if metric.frechet is None else f"{metric.frechet:.2f}",
        )
        for metric in measured
    )
    columns = ("Stage", "Model", *names, "Fréchet distance")
    numbers = tuple(range(2, len(columns)))
    lead = f"Accuracy on real, held-out images of a {run.summary.classifier} classifier that saw only generated ones."
    return lead, Table("Every measurement", columns, rows, numbers, folded=True)


def answers(run: Run) -> Chapter:
    """A table a query."""
    found = run.summary.answers or ()
    blocks = list[Block]()
    for answer in found:
        blocks += [answer_table(answer), *([Notes((answer.remark,))] if answer.remark else [])]
    return Chapter("answers", "Answers", INTERVALS[0].upper() + INTERVALS[1:] + ".", tuple(blocks))


def silos(run: Run) -> Chapter:
    """A table with one row a silo."""
    lead = "What each institution brought, spent, and would have had by itself."
    lead = "What each institution brought, and spent." if run.summary.answers is not None else lead
    lead = "What each institution has spent, at most." if run.summary.at_aggregator else lead
    return Chapter("silos", "Silos", lead, (silo_table(run.summary),))


def privacy(run: Run) -> Chapter:
    """The statement of each silo, and what its ledger says."""
    silos = run.summary.silos
    statements = Quotes(tuple((silo.name, silo.statement.removeprefix(f"{silo.name}: ")) for silo in silos))
    line = sentences.one_example_line(run.summary)
    most = () if line is None else (Paragraph(f"{line[0].upper()}{line[1:]}."),)
    if run.summary.at_aggregator:
        lead = "One line a silo. Its ledger, which is exact, stays with it."
        return Chapter("privacy", "Privacy", lead, (*most, statements))
    entries = run.privacy
    ledger: Block = _ledger(entries) if entries else Paragraph("No silo's ledger holds an entry.")
    lead = "One line a silo to quote, then its ledger. Phases are composed: a total is at most the sum of its parts."
    return Chapter("privacy", "Privacy", lead, (*most, statements, ledger))


def _ledger(entries: list[PrivacyMetric]) -> Table:
    rows = tuple(
        (
            entry.silo,
            phase_title(entry.phase),
            wording.epsilon(entry.epsilon),
            wording.delta(entry.delta),
            entry.accountant or "",
            _written(entry.noise_multiplier, ".3f"),
            _written(entry.sampling_rate, ".4f"),
            _written(entry.steps, ","),
        )
        for entry in entries
    )
    starts = [n for n, entry in enumerate(entries) if n == 0 or entry.silo != entries[n - 1].silo]
    columns = ("Silo", "Phase", "Epsilon", "Delta", "Counted by", "Noise multiplier", "Sampling rate", "Steps")
    return Table("Ledger by phase", columns, rows, numbers=(2, 3, 5, 6, 7), groups=tuple(starts))


def _written(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def notes(run: Run) -> Chapter:
    """What the run noted, and what holds for every run."""
    lost = sentences.lost_to_a_silo(run.summary)
    texts = [
        *(note.text for note in run.notes),
        *([lost] if lost else []),
        *sentences.standing_notes(run.summary),
    ]
    return Chapter("notes", "Notes", "What to keep in mind before quoting a number.", (Notes(tuple(texts)),))
