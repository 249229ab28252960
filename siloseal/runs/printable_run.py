"""A run that is read back, and prints as the commands show it."""

from dataclasses import fields

from siloseal.report.result_table import print_result
from siloseal.report.terminal import as_text
from siloseal.run_folder.run import Run


class PrintableRun(Run):
    """A finished run whose text is that of `siloseal run`: accuracies, silos, the guarantee, open uploads."""

    def __str__(self) -> str:
        return as_text(lambda terminal: print_result(terminal, self))


def printable_run(run: Run) -> PrintableRun:
    """The run, with a text. Reports read runs as well, and a run's folder knows no report."""
    return PrintableRun(**{field.name: getattr(run, field.name) for field in fields(run)})
