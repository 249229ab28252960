"""Options that several commands have, each said once."""

from pathlib import Path
from typing import Annotated

import typer

from siloseal.silo.device_name import DeviceName

Code = Annotated[
    str | None,
    typer.Option(
        help="Code of a user's own that the model's file names, as MODULE:NAME, if you trust it; in its run's folder, "
        "the job names it."
    ),
]
Device = Annotated[
    DeviceName,
    typer.Option(help="Where silos train; auto takes a graphics processor where there is one."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, to standard output.")]
Model = Annotated[Path, typer.Option(help="A run's folder, or its global.safetensors.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")]
RunFolder = Annotated[
    Path | None, typer.Option("--out", help="The run folder. By default runs/NAME, or the next free number of it.")
]
