"""`siloseal export`: a model for use elsewhere."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from siloseal.cli.options import Code, Model


def export(
    model: Model,
    to: Annotated[
        Literal["onnx", "torch"],
        typer.Option(
            help="The format: onnx, which needs the extra `export`; or torch, a program of torch.export (.pt2)."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    code: Code = None,
) -> None:
    """Write a classifier or a generator for use elsewhere, for batches of any size. It costs no privacy."""
    from siloseal import _models

    _models.export(model, out, to=to, code=code)
    print(out)
