"""`siloseal compare`: grids of runs, and the report that compares them."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Json, Quiet

if TYPE_CHECKING:
    from siloseal.cli.console import Console

OUT = Path("runs/compare")
STAGE = "compare"
CORES = len(os.sched_getaffinity(0))

Configs = Annotated[
    list[Path], typer.Argument(help="Comparisons' YAML files; configs/compare-*.yaml has ours.", metavar="CONFIG...")
]
Out = Annotated[Path, typer.Option(help="Where cells, table, figures and report go; finished cells are found there.")]
Workers = Annotated[int, typer.Option(min=1, max=1024, help="Cells that run at a time. By default one for each core.")]
List = Annotated[bool, typer.Option("--list", help="Show the cells and which of them are there, and run nothing.")]


def compare(
    configs: Configs,
    out: Out = OUT,
    workers: Workers = CORES,
    only_list: List = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run grids of measurements, and write a table, figures and one report that compares them.

    The same command again runs only what is missing or has changed.
    """
    from siloseal.cli.console import Console
    from siloseal.experiments.comparison import compare as comparing

    if only_list:
        listed = comparing.list_cells(configs, out)
        if as_json:
            print(json.dumps([{"cell": cell.digest, "title": cell.title, "there": there} for cell, there in listed]))
        else:
            print(
                "\n".join(f"{'there' if there else 'to run':7} {cell.digest}  {cell.title}" for cell, there in listed)
            )
        return
    try:
        with Console(quiet=quiet, json=as_json) as console:
            outcome = comparing.compare(configs, out, workers=workers, watcher=ConsoleWatcher(console))
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on with what is missing", file=sys.stderr, flush=True)
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps(asdict(outcome), indent=2))
        raise typer.Exit(1 if outcome.failed else 0)
    if not quiet:
        print(f"{outcome.cells} cells: {outcome.ran} run, {outcome.found} found")
        print(f"table: {outcome.table}\nreport: {outcome.report}")
    comparing.require_complete(outcome)


@dataclass(frozen=True)
class ConsoleWatcher:
    """A watcher that shows on the console how the cells get on."""

    console: "Console"

    def begin(self, total: int) -> None:
        """Note that this many cells are measured, or found."""
        self.console.stage(STAGE, total)

    def say(self, text: str) -> None:
        """Show a remark for a person."""
        self.console.say(text)

    def progress(self, done: int, total: int, running: Sequence[str], left_seconds: float | None) -> None:
        """Show that `done` of `total` cells are there, and which are running."""
        from siloseal.report import wording

        left = "" if left_seconds is None or not running else f"about {wording.duration(left_seconds)} left"
        self.console.advance(STAGE, None, done, total, "; ".join(filter(None, (left, *running))))
