"""A run that is read back, and prints as the commands show it."""

from dataclasses import fields
from pathlib import Path

from siloseal.report.result_table import print_result
from siloseal.report.terminal import as_text
from siloseal.run_folder.summary import Run, read_run


class PrintableRun(Run):
    """A finished run whose text is that of `siloseal run`: accuracies, silos, the guarantee, open uploads."""

    def __str__(self) -> str:
        return as_text(lambda terminal: print_result(terminal, self))


def read_printable_run(folder: Path) -> PrintableRun:
    """Read a finished run's folder."""
    run = read_run(folder)
    return PrintableRun(**{field.name: getattr(run, field.name) for field in fields(run)})
