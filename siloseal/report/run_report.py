"""The report of a run: from its folder to a document, and to a page that needs nothing beside it."""

from pathlib import Path
from typing import assert_never

from siloseal.report import charts, costs, sections, wording
from siloseal.report.classifier_words import own_headlines, record_headlines
from siloseal.report.document import Chapter, Document, Headline
from siloseal.report.page import write_page
from siloseal.report.score_table import headline
from siloseal.report.sentences import guide, spent_on_silos_alone, upload_alerts
from siloseal.run_folder.run import Run, read_run
from siloseal.run_folder.summary import RunSummary


def write_report(run_dir: Path) -> Path:
    """Read a finished run and write report.html into its folder; only its owner reads a state folder's files."""
    run = read_run(run_dir)
    mode = 0o600 if run.summary.at_aggregator else 0o644
    return write_page(run_dir / "report.html", run_report(run), mode=mode)


def run_report(run: Run) -> Document:
    """Everything that a run tells its reader."""
    with charts.style():
        chapters = (
            *_found(run),
            sections.silos(run),
            sections.privacy(run),
            costs.uploads(run),
            costs.traffic(run),
            costs.timings(run),
            costs.parameters(run),
            sections.notes(run),
        )
    return Document(
        "SiloSeal report",
        run.summary.name,
        chapters,
        headlines=headlines(run.summary),
        alerts=upload_alerts(run.protection),
        guide=guide(run.summary),
        footer=f"SiloSeal · {run.summary.run_dir}",
    )


def _found(run: Run) -> tuple[Chapter, ...]:
    """The chapters about what the run was for: answers, or a model and how good it is."""
    if run.summary.answers is not None:
        return (sections.answers(run),)
    drawn = (sections.samples(run),) if run.summary.measured_as == "generated" else ()
    return (*drawn, sections.quality(run))


def headlines(summary: RunSummary) -> tuple[Headline, ...]:
    """The numbers at the top. At an aggregator nobody measured how good the model is."""
    return (
        *_quality(summary),
        Headline("Epsilon", wording.epsilon(summary.epsilon), _whose(summary)),
        Headline("Delta", wording.delta(summary.delta), "chance the bound may fail"),
        Headline("Traffic", wording.size(summary.bytes), f"{summary.bytes:,} bytes in all"),
        Headline("Duration", wording.duration(summary.seconds), f"{len(summary.silos)} silos"),
    )


def _quality(summary: RunSummary) -> tuple[Headline, ...]:
    if summary.at_aggregator or summary.answers is not None:
        return ()
    match summary.measured_as:
        case "generated":
            return image_headlines(summary)
        case "few_shot":
            return task_headlines(summary)
        case "classification":
            return record_headlines(summary)
        case "own":
            return own_headlines(summary)
        case _:
            assert_never(summary.measured_as)


def _whose(summary: RunSummary) -> str:
    if summary.answers is not None:
        return "all queries together"
    if summary.at_aggregator:
        return "largest that a silo reported"
    return "largest of any silo" + ("; silos alone spend more" if spent_on_silos_alone(summary) else "")


def image_headlines(summary: RunSummary) -> tuple[Headline, ...]:
    """How good the generated images are."""
    final, note = wording.share(summary.final_accuracy), f"{summary.classifier} classifier"
    return (
        Headline("Accuracy, global model", final, note, main=True),
        Headline("Best silo alone", wording.share(summary.best_silo_accuracy), "accuracy without the others"),
        Headline("Real data", wording.share(summary.real_data_accuracy), "accuracy, the ceiling"),
    )


def task_headlines(summary: RunSummary) -> tuple[Headline, ...]:
    """How well new tasks are learnt."""
    return (
        Headline("Accuracy, global model", headline(summary, "final"), summary.classifier, main=True),
        Headline("Best silo alone", headline(summary, "silo_alone"), "accuracy without the others"),
        Headline("Pooled, without privacy", headline(summary, "pooled"), "accuracy with all images in one place"),
    )
