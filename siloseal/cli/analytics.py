"""`siloseal analytics`: the command, and how its answers look."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console as Terminal

    from siloseal.federation.analytics.query import Answer, Estimate
    from siloseal.federation.run_events.stream import RunEvent
    from siloseal.report.document import Table
    from siloseal.runs.analytics import Answers

Config = Annotated[Path, typer.Argument(help="A YAML file such as configs/analytics.yaml.", metavar="CONFIG")]
Out = Annotated[Path | None, typer.Option(help="The run folder. By default runs/NAME.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, to standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]


def analytics(config: Config, out: Out = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Look before training: counts, means, quantiles and frequent values of all silos' records, under noise.

    The same command again shows the same answers, and releases nothing more.
    """
    from siloseal.federation.analytics.config import AnalyticsJob
    from siloseal.federation.config.loading import load_config

    job = load_config(AnalyticsJob, config)  # before anything heavy is imported: a mistake in the file is said at once

    from rich.console import Console as Terminal

    from siloseal.cli.console import Console
    from siloseal.federation.run_events.aggregator import StageBegan
    from siloseal.federation.run_events.experimenter import AnswersFound
    from siloseal.runs.analytics import run_analytics

    console = Console(quiet=quiet, json=as_json)

    def tell(event: "RunEvent") -> None:
        match event:
            case StageBegan(query):
                console.say(f"{query} ...")
            case AnswersFound(folder):
                console.say(f"{folder} has the answers already; nothing is released again")

    found, folder = run_analytics(job, out, tell)
    if as_json:
        sys.stdout.write(found.model_dump_json(indent=2) + "\n")
    elif not quiet:
        show(found, folder, Terminal(highlight=False))


def show(found: "Answers", folder: Path, terminal: "Terminal") -> None:
    """Show a table a query, then the guarantee and what the intervals are about."""
    from rich.text import Text

    from siloseal.report.terminal import print_table

    for answer in found.answers:
        print_table(terminal, answer_table(answer))
        if answer.remark:
            terminal.print(Text(answer.remark, style="yellow"), soft_wrap=True)
    terminal.print(Text(found.guarantee), soft_wrap=True)
    terminal.print(Text(found.intervals, style="dim"), soft_wrap=True)
    terminal.print(Text(f"answers: {folder / 'answers.json'}", style="dim"), soft_wrap=True)


def answer_table(answer: "Answer") -> "Table":
    """Figures with their intervals."""
    from siloseal.report.document import Table

    rows = tuple(
        (estimate.name, "-" if estimate.value is None else _figure(estimate.value), _interval(estimate), estimate.note)
        for estimate in answer.estimates
    )
    return Table(answer.query, ("", "estimate", "95 % interval", "note"), rows, numbers=(1, 2))


def _interval(estimate: "Estimate") -> str:
    return f"{_figure(estimate.low)} to {_figure(estimate.high)}"


def _figure(value: float) -> str:
    """The number in words: whole from a hundred on, with four digits below."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"
