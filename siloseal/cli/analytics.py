"""`siloseal analytics`: the command, and how its answers look."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Json, Quiet, RunFolder
from siloseal.models.user_code.places import look_in

if TYPE_CHECKING:
    from rich.console import Console as Terminal

    from siloseal.federation.analytics.answers import Answers

Config = Annotated[Path, typer.Argument(help="A YAML file such as configs/analytics.yaml.", metavar="CONFIG")]


def analytics(config: Config, out: RunFolder = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Look before training: counts, means, quantiles and frequent values of all silos' records, under noise.

    The same command again shows the same answers, and releases nothing more.
    """
    from siloseal.federation.analytics.config import AnalyticsJob
    from siloseal.federation.config.loading import load_config

    job = load_config(AnalyticsJob, config)  # before anything heavy is imported: a mistake in the file is said at once
    look_in(config.parent)

    from rich.console import Console as Terminal

    from siloseal.cli.console import Console
    from siloseal.runs.analytics import run_analytics

    with Console(quiet=quiet, json=as_json) as console:
        found, folder = run_analytics(job, out, console.show)
    if as_json:
        sys.stdout.write(found.model_dump_json(indent=2) + "\n")
    elif not quiet:
        show(found, folder, Terminal(highlight=False))


def show(found: "Answers", folder: Path, terminal: "Terminal") -> None:
    """Show a table a query, then the guarantee and what the intervals are about."""
    from siloseal.federation.analytics.answers import ANSWERS_FILE
    from siloseal.report.answer_table import answer_table
    from siloseal.report.terminal import print_line, print_table

    for answer in found.answers:
        print_table(terminal, answer_table(answer))
        if answer.remark:
            print_line(terminal, answer.remark, "yellow")
    print_line(terminal, found.guarantee)
    print_line(terminal, found.intervals, "dim")
    print_line(terminal, f"answers: {folder / ANSWERS_FILE}", "dim")
    print_line(terminal, f"report: {folder / 'report.html'}", "dim")
