"""`siloseal predict`: the command, and how its result is shown."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Code, Json, Model

if TYPE_CHECKING:
    from siloseal.models.evaluation.classification import Measures
    from siloseal.report.document import Table
    from siloseal.runs.predicting import NamedRecords

SHOWN = 20
"""Number of rows of the table in a terminal; the CSV file has all of them."""


def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Option(
            help="Records to name: an .npz with images or x (and labels or y, to be tested on), a .csv with the "
            "columns that the job declares (and its target, to be tested on), a folder of pictures, or a folder of "
            "class folders."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Write all predictions to this CSV file.")] = None,
    class_names: Annotated[
        str | None,
        typer.Option(help="Names of the classes in the order of their numbers, with commas. By default the run's own."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="Character between two fields of a line of a .csv. By default the run's own, or a comma."),
    ] = None,
    code: Code = None,
    as_json: Json = False,
) -> None:
    """Name records with a trained classifier. Nothing leaves this machine, and it costs no privacy."""
    from siloseal.models.user_code.places import look_in
    from siloseal.runs.predicting import name_records, write_table

    look_in(Path())
    names = [name.strip() for name in (class_names or "").split(",") if name.strip()]
    named = name_records(model, data, names, delimiter=delimiter, code=code)
    if out is not None:
        write_table(out, named)
    if as_json:
        print(json.dumps(_document(named), indent=2))
        return
    _show(named)
    if out is not None:
        print(out)


def _document(named: "NamedRecords") -> dict[str, object]:
    found, asked, names = named.measures, named.asked, named.names
    measures = None if found is None else {**_numbers(found), "recall": found.recall, "precision": found.precision}
    actual = None if asked.labels is None else asked.labels.tolist()
    labels, shares = (values.tolist() for values in named.predicted)
    rows = [
        {
            **({"file": asked.sources[place]} if asked.sources else {"row": place}),
            "predicted": label,
            **({"name": names[label]} if names else {}),
            "probabilities": shares[place],
            **({} if actual is None else {"actual": actual[place]}),
        }
        for place, label in enumerate(labels)
    ]
    return {"measures": measures, "predictions": rows}


def _numbers(found: "Measures") -> dict[str, float | None]:
    return {
        "accuracy": found.accuracy,
        "balanced accuracy": found.balanced_accuracy,
        "AUC": found.auc,
        "calibration error": found.calibration_error,
    }


def _show(named: "NamedRecords") -> None:
    from rich.console import Console as Terminal

    from siloseal.report.document import Table
    from siloseal.report.terminal import print_table
    from siloseal.runs.predicting import table_of

    header, rows = table_of(named)
    kept = [place for place, title in enumerate(header) if not title.startswith("probability of ")]
    terminal = Terminal(highlight=False)
    shown = tuple(tuple(row[place] for place in kept) for row in rows[:SHOWN])
    print_table(terminal, Table("", tuple(header[place] for place in kept), shown))
    if len(rows) > SHOWN:
        terminal.print(f"and {len(rows) - SHOWN:,} more; --out writes them all")
    for table in [] if named.measures is None else _measure_tables(named.measures, named.names):
        print_table(terminal, table)


def _measure_tables(found: "Measures", names: tuple[str, ...]) -> "list[Table]":
    from siloseal.report.document import Table

    def written(value: float | None) -> str:
        return "none" if value is None else f"{value:.3f}"

    numbers = tuple((name, written(value)) for name, value in _numbers(found).items())
    per_class = zip(found.records, found.recall, found.precision, strict=True)
    rows = tuple(
        (names[label] if names else str(label), f"{records:,}", written(recall), written(precision))
        for label, (records, recall, precision) in enumerate(per_class)
    )
    title = f"Measured on {sum(found.records):,} records"
    return [
        Table(title, ("measure", "value"), numbers, numbers=(1,)),
        Table("Class by class", ("class", "records", "recall", "precision"), rows, numbers=(1, 2, 3)),
    ]
