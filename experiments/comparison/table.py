"""The tidy table: one number a line, as CSV and as JSON lines."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from siloseal.experiments.comparison.rows import Label, Measured
from siloseal.federation.records.storage import write_atomically

COLUMNS = ("stage", "silo", "measure", "detail", "value", "unit")


def write_table(out: Path, cells: Sequence[Measured]) -> tuple[Path, Path]:
    """Write out/table.csv, where an axis that a cell lacks is empty, and out/table.jsonl, where it is missing."""
    lines = [line for cell in cells for line in _lines(cell)]
    axes = list(dict.fromkeys(axis for cell in cells for axis in cell.labels))
    text = io.StringIO()
    writer = csv.DictWriter(text, ["comparison", "cell", *axes, "seed", *COLUMNS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    write_atomically(out / "table.csv", text.getvalue().encode())
    write_atomically(out / "table.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
    return out / "table.csv", out / "table.jsonl"


def _lines(cell: Measured) -> list[dict[str, Label]]:
    point: dict[str, Label] = {"comparison": cell.comparison, "cell": cell.cell, **cell.labels, "seed": cell.seed}
    return [{**point, **{column: getattr(row, column) for column in COLUMNS}} for row in cell.rows]
