"""A classifier in tables: whom it serves how well, what it does with each class, and what it takes for what."""

from siloseal.report import wording
from siloseal.report.document import Cell, Table
from siloseal.run_folder.classification import ClassificationMetric
from siloseal.run_folder.summary import RunSummary

MOST_SILOS, MOST_CLASSES = 30, 40
"""Most rows of a table; of more, those that come off worst are shown."""
HALF = 0.5
"""Recall below which a class counts as missed: most of its records are taken for something else."""


def served_table(summary: RunSummary) -> Table | None:
    """Accuracy for each silo, beside what the silo has without the others; None where it is not known."""
    if (details := summary.details) is None or not details.by_silo:
        return None
    alone = alone_on_own_mix(summary)
    order = sorted(details.by_silo, key=details.by_silo.__getitem__) if len(details.by_silo) > MOST_SILOS else None
    shown = (order or list(details.by_silo))[:MOST_SILOS]
    worst = details.worst_silo
    rows = tuple(
        (
            name,
            _served(details.by_silo[name], worst=name == worst),
            *([wording.share(alone.get(name)), _gain(details.by_silo[name], alone.get(name))] if alone else []),
        )
        for name in shown
    )
    columns = (
        "Silo",
        "Own final model" if summary.personal else "Global model",
        *(("Silo alone", "Gain") if alone else ()),
    )
    return Table(
        "Whom the model serves",
        columns,
        rows,
        numbers=tuple(range(1, len(columns))),
        note=served_note(summary, details),
    )


def served_note(summary: RunSummary, details: ClassificationMetric) -> str:
    """What the numbers are, the worst silo, and how far the silos are apart."""
    own = "each silo's own final model" if summary.personal else "the model"
    words = (
        f"Accuracy of {own} on held-out records of the silo's own."
        if details.own_records
        else f"Accuracy of {own} on held-out records in the silo's mix of classes: the recall of each class, by the "
        "silo's share of it. That is exact where silos differ in their mix of classes alone, as where records are "
        "dealt at random or by class."
    )
    if (worst := details.worst_silo) is not None:
        words += f" Worst: {worst}, {details.by_silo[worst]:.3f}. Spread, best minus worst: {details.spread:.3f}."
    elif len(details.by_silo) > 1:
        words += (
            f" Silos are {details.spread:.3f} apart at most. Silos that are served alike may be as unlike by chance, "
            f"in up to {details.chance:.0%} of runs, so that none is called the worst."
        )
    hidden = len(details.by_silo) - MOST_SILOS
    return words + (f" Shown are the {MOST_SILOS} silos that are served worst; {hidden} more are not." * (hidden > 0))


def alone_on_own_mix(summary: RunSummary) -> dict[str, float]:
    """The accuracy of each silo's model without the others, for the silo itself, where it was measured."""
    found = dict[str, float]()
    for score in summary.scores:
        details = score.classification
        if score.stage == "silo_alone" and score.silo and details and score.silo in details.by_silo:
            found[score.silo] = details.by_silo[score.silo]
    return found


def class_table(summary: RunSummary) -> Table | None:
    """Recall and precision of each class; None where they are not known."""
    if (details := summary.details) is None:
        return None
    every = range(len(details.recall))
    many = len(every) > MOST_CLASSES
    shown = sorted(every, key=lambda n: _or_one(details.recall[n]))[:MOST_CLASSES] if many else every
    rows = tuple(
        (
            class_name(summary, label),
            f"{details.records[label]:,}",
            _recall(details.recall[label]),
            _written(details.precision[label]),
        )
        for label in shown
    )
    note = (
        "Recall: the share of a class's records that the model names so. Precision: the share of the records named so "
        "that are of the class."
    )
    note += f" Shown are the {MOST_CLASSES} of {len(every)} classes with the lowest recall." if many else ""
    return Table(
        "Class by class", ("Class", "Held-out records", "Recall", "Precision"), rows, numbers=(1, 2, 3), note=note
    )


def confusion_table(summary: RunSummary) -> Table | None:
    """What records of each class are taken for; None where it was not kept."""
    if (details := summary.details) is None or not details.confusion:
        return None
    names = [class_name(summary, label) for label in range(len(details.confusion))]
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (name, *(Cell(f"{count:,}", shade=count / max(1, sum(counts))) for count in counts))
        for name, counts in zip(names, details.confusion, strict=True)
    )
    note = (
        "Rows: what a record is. Columns: what the model names it. The darker a cell, the larger its share of its row."
    )
    return Table(
        "Confusion matrix", ("Class", *names), rows, numbers=tuple(range(1, 1 + len(names))), note=note, matrix=True
    )


def class_name(summary: RunSummary, label: int) -> str:
    """A class as a person reads it."""
    return str(label) if summary.model is None else summary.model.class_name(label)


def missed_classes(summary: RunSummary) -> list[str]:
    """Names and recalls of the classes of which most records are taken for something else, the worst first."""
    recall = [] if (details := summary.details) is None else details.recall
    low = sorted((value, label) for label, value in enumerate(recall) if value is not None and value < HALF)
    return [f"{class_name(summary, label)} ({value:.2f})" for value, label in low]


def _served(value: float, *, worst: bool) -> Cell:
    return Cell(f"{value:.3f}{', worst' if worst else ''}", filled=value)


def _gain(served: float, alone: float | None) -> str | Cell:
    if alone is None:
        return wording.NOT_MEASURED
    gain = served - alone
    return f"{gain:+.3f}" if gain >= 0 else Cell(f"{gain:+.3f}", tone="bad")


def _recall(value: float | None) -> str | Cell:
    return Cell(f"{value:.3f}", tone="bad") if value is not None and value < HALF else _written(value)


def _written(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _or_one(value: float | None) -> float:
    return 1.0 if value is None else value
