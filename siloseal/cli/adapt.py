"""`siloseal adapt`: the command, and how its result is shown."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siloseal.cli.options import Json, Model

if TYPE_CHECKING:
    from siloseal.runs.adapting import Prediction

SHOWN = 40
"""Number of rows of the table in a terminal; the CSV file has all of them."""


def adapt(
    model: Model,
    support: Annotated[Path, typer.Option(help="A folder of class folders, each with a few images to learn from.")],
    query: Annotated[Path, typer.Option(help="A folder of images to name, or of class folders, to be tested on.")],
    out: Annotated[Path | None, typer.Option(help="Write all predictions to this CSV file.")] = None,
    invert: Annotated[
        bool, typer.Option(help="Images are dark on light, but the model was trained on light on dark, as Omniglot is.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Adapt a few-shot model to a task of your own, and name new images. Nothing leaves this machine."""
    from siloseal import _models
    from siloseal.runs.adapting import accuracy, write_predictions

    predictions = _models.adapt(model, support, query, invert=invert)
    if out is not None:
        write_predictions(out, predictions)
    share = accuracy(predictions)
    if as_json:
        rows = [dataclasses.asdict(prediction) for prediction in predictions]
        print(json.dumps({"accuracy": share, "predictions": rows}, indent=2))
        return
    _show(predictions, share)
    if out is not None:
        print(out)


def _show(predictions: Sequence["Prediction"], share: float | None) -> None:
    from rich.console import Console as Terminal

    from siloseal.report.document import Table
    from siloseal.report.terminal import print_table

    known = share is not None
    rows = [
        (one.file, one.predicted, f"{one.confidence:.0%}", *([one.actual or ""] if known else []))
        for one in predictions[:SHOWN]
    ]
    terminal = Terminal(highlight=False)
    print_table(terminal, Table("", ("image", "named", "confidence", *(["is"] if known else [])), tuple(rows)))
    if len(predictions) > SHOWN:
        terminal.print(f"and {len(predictions) - SHOWN} more; --out writes them all")
    if share is not None:
        terminal.print(f"named rightly: {share:.1%} of {len(predictions)}")
