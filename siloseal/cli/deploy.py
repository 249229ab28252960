"""The commands of a deployment: aggregator, silo, status."""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from siloseal.cli.options import Json, Quiet
from siloseal.federation.printable import printable

Config = Annotated[Path, typer.Option("--config", help="The party's own YAML file, from its kit.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print what happens as JSON lines to standard output.")]


def aggregator(config: Config, json_lines: JsonLines = False, quiet: Quiet = False) -> None:
    """Serve a job to the silos that dial in. The same command continues a run that was stopped or killed."""
    _stop_at_once_when_told()
    from siloseal.cli.event_lines import EventLines
    from siloseal.runs.deployment import run_aggregator

    outcome = run_aggregator(config, EventLines(json_lines=json_lines, quiet=quiet).show)
    with suppress(OSError):  # the run is over, whether or not anybody reads this
        for note in outcome.notes:
            print(printable(f"note: {note}"), file=sys.stderr)


def silo(config: Config, json_lines: JsonLines = False, quiet: Quiet = False) -> None:
    """Take part in a job: dial the aggregator, or wait for it. The same command continues after a stop or a kill."""
    _stop_at_once_when_told()
    from siloseal.cli.event_lines import EventLines
    from siloseal.runs.deployment import run_silo

    participation = run_silo(config, EventLines(json_lines=json_lines, quiet=quiet).show)
    if not quiet:
        with suppress(OSError):  # the run is over, whether or not anybody reads this
            for line in filter(None, (participation.statement, participation.spent_of_policy)):
                print(printable(line), file=sys.stderr)


def status(config: Config, as_json: Json = False) -> None:
    """Ask a running aggregator how far it is; with an operator.yaml or a silo.yaml, whose certificate it shows."""
    from siloseal.cli.status_table import print_status
    from siloseal.runs.status import as_document, ask_status

    report = ask_status(config)
    if as_json:
        print(json.dumps(as_document(report), indent=2))
    else:
        print_status(report)


def _stop_at_once_when_told() -> None:
    """Stop at Ctrl-C and a supervisor's SIGTERM, from the first moment on: everything that counts is on the disk."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        with suppress(OSError):
            os.write(2, b"\nstopped; the same command continues where it stopped\n")
        os._exit(130)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
