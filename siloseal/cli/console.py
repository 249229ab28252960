"""What a person sees in the terminal.

Results go to standard output, everything else (bars, remarks, errors) to standard error. So `--json` leaves standard
output with one JSON document and nothing else, and a pipe never receives a progress bar.
"""

import time
from collections.abc import Callable

from rich.console import Console as Terminal

from siloseal.federation.errors import SiloSealError
from siloseal.report.result_table import print_result
from siloseal.report.terminal import print_line
from siloseal.run_folder.run import Run
from siloseal.runs.progress import ProgressView


class Console(ProgressView):
    """Progress of a command, then its result. `quiet` leaves errors and, with `json`, the result."""

    def __init__(self, quiet: bool, json: bool, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(quiet, clock=clock)
        self._json, self._out = json, Terminal(highlight=False)

    def error(self, error: SiloSealError) -> None:
        """Show a red line for each thing that is wrong, and what to do about it: the part behind the semicolon."""
        for line in str(error).splitlines():
            found, _, advice = line.partition("; ")
            print_line(self._err, f"error: {found}", "bold red")
            if advice:
                print_line(self._err, f"  hint: {advice}", "dim")

    def final(self, run: Run) -> None:
        """Show the result: its summary as one JSON document, or tables."""
        self._bars.stop()
        summary = run.summary
        if self._json:
            self._out.file.write(summary.model_dump_json(indent=2) + "\n")
            self._out.file.flush()
        elif not self._quiet:
            print_result(self._out, run)
        for warning in () if self._quiet else summary.warnings:
            print_line(self._err, f"note: {warning}", "yellow")
