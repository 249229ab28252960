"""The result of a run in the terminal: accuracies, silos, the guarantee, open uploads, and where the report is."""

from rich.console import Console as Terminal

from siloseal.federation.privacy.guarantee import in_short
from siloseal.report import wording
from siloseal.report.answer_table import answer_table
from siloseal.report.classifier_tables import served_table
from siloseal.report.document import Table
from siloseal.report.score_table import TITLE, score_table
from siloseal.report.sentences import one_example_line, spent_on_silos_alone, unit_of, uploads_line
from siloseal.report.silo_table import silo_table
from siloseal.report.terminal import print_line, print_table
from siloseal.run_folder.metrics import stage_title
from siloseal.run_folder.run import Run
from siloseal.run_folder.summary import RunSummary

MOST_ROUNDS = 12  # rows of the table of models; the report has all


def print_result(terminal: Terminal, run: Run) -> None:
    """Print what the run has found, a table of its silos, and three lines below them."""
    summary = run.summary
    for table in _found(summary):
        print_table(terminal, table)
    print_table(terminal, silo_table(summary, accuracies=summary.measured_as == "generated"))
    for line in footer(run):
        print_line(terminal, line)


def _found(summary: RunSummary) -> list[Table]:
    """The answers, or how good the model is, which no aggregator knows."""
    if summary.answers is not None:
        return [answer_table(answer) for answer in summary.answers]
    if summary.at_aggregator or (summary.measured_as == "own" and not summary.accuracy):
        return []
    if summary.measured_as == "generated":
        return [stage_table(summary)]
    return [table for table in (value_table(summary), served_table(summary)) if table is not None]


def stage_table(summary: RunSummary) -> Table:
    """Accuracy by stage, with what to compare it with."""
    stages = [(stage_title(stage), wording.share(value)) for stage, value in summary.accuracy.items()]
    compared = [
        ("Best silo alone", wording.share(summary.best_silo_accuracy)),
        ("Real data", wording.share(summary.real_data_accuracy)),
    ]
    columns = ("Stage", f"Accuracy ({summary.classifier})")
    return Table(summary.name, columns, (*stages, *compared), numbers=(1,), groups=(0, len(stages)))


def value_table(summary: RunSummary) -> Table:
    """The models of a run that draws no images, with what to compare them with."""
    title = f"{summary.name}: {TITLE[0].lower()}{TITLE[1:]}"
    return score_table(summary, title=title, most_rounds=MOST_ROUNDS)


def footer(run: Run) -> tuple[str, ...]:
    """The guarantee, the cost, what one example and comparisons cost, open uploads, and where the report is."""
    summary = run.summary
    cost = f"{_guarantee(summary)} · {wording.size(summary.bytes)} · {wording.duration(summary.seconds)}"
    costs = [line for line in (one_example_line(summary), spent_on_silos_alone(summary)) if line is not None]
    return cost, *costs, uploads_line(run.protection), f"report: {summary.run_dir}/report.html"


def _guarantee(summary: RunSummary) -> str:
    if summary.epsilon is None:
        return f"epsilon {wording.epsilon(None)}"
    return in_short(summary.epsilon, summary.delta, protected=unit_of(summary))
