"""One row for each silo of a run: what it brought, what it spent and what it reached. Terminal and report show it."""

from collections.abc import Iterator

from siloseal.report import wording
from siloseal.report.document import Cell, Table
from siloseal.run_folder.summary import RunSummary, SiloSummary


def silo_table(summary: RunSummary, *, accuracies: bool = True) -> Table:
    """The silos of a run; `accuracies` is False where another table has them, or nobody measured them."""
    if summary.at_aggregator:  # which knows nothing of the silos' data
        spent = tuple((silo.name, _spent(silo)) for silo in summary.silos)
        return Table("", ("Silo", "Epsilon, at most"), spent, numbers=(1,))
    if summary.answers is not None:
        asked = tuple((silo.name, f"{silo.examples or 0:,}", _spent(silo)) for silo in summary.silos)
        return Table("", ("Silo", "Records", "Epsilon spent"), asked, numbers=(1, 2))
    columns = ["Silo", "Examples", *(["Tasks"] if _has_tasks(summary) else []), "Classes declared", "Epsilon spent"]
    columns += ["Accuracy alone", "After local training"] if accuracies else []
    rows = tuple(tuple(_cells(silo, summary, accuracies=accuracies)) for silo in summary.silos)
    numbers = tuple(index for index, column in enumerate(columns) if column not in ("Silo", "Classes declared"))
    return Table("", tuple(columns), rows, numbers)


def _has_tasks(summary: RunSummary) -> bool:
    return any(silo.tasks is not None for silo in summary.silos)


def _cells(silo: SiloSummary, summary: RunSummary, *, accuracies: bool) -> Iterator[str | Cell]:
    yield silo.name
    yield wording.NOT_KNOWN if silo.examples is None else f"{silo.examples:,}"
    if _has_tasks(summary):
        yield "" if silo.tasks is None else f"{silo.tasks:,}"
    yield wording.classes(silo.labels)
    yield _spent(silo)
    if accuracies:
        write = wording.percent if summary.few_shot else wording.share
        yield write(silo.accuracy_alone)
        yield write(silo.accuracy_trained)


def _spent(silo: SiloSummary) -> Cell:
    spent = wording.epsilon(silo.epsilon)
    if silo.epsilon is None or not silo.budget:
        return Cell(spent)
    return Cell(f"{spent} of {silo.budget:g}", filled=silo.epsilon / silo.budget)
