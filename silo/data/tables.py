"""A silo's records as columns. Errors name the file, the line and the column, and never what stands there."""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DataError
from siloseal.federation.shapes import is_image
from siloseal.silo.data.examples import Examples

Texts = NDArray[np.object_]
Numbers = NDArray[np.float64]

LEAVE_OUT = "leave out records without one"
"""Advice for a field that should hold a number, where nothing can be declared about it."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns of equal length, of texts or of numbers. It prints its shape only: the records are somebody's."""

    source: str
    columns: Mapping[str, Texts | Numbers]
    lines: NDArray[np.int64]
    """Line of each record in its source, from 1."""
    of_examples: bool = False
    """Whether the columns were made of examples; their names are then the same everywhere, and nobody's record."""

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return f"Table({len(self)} records of {len(self.columns)} columns)"

    def require(self, names: Iterable[str]) -> None:
        """`DataError` unless the table has these columns.

        No other name of a file is printed: where it lacks its first line, they are somebody's record.
        """
        asked = list(dict.fromkeys(names))
        if missing := [name for name in asked if name not in self.columns]:
            if self.of_examples:
                raise DataError(
                    f"{self.source} have no column {', '.join(map(repr, missing))}, only "
                    f"{' and '.join(map(repr, self.columns)) or 'none'}; correct the column's name in the job"
                )
            found = ", ".join(repr(name) for name in asked if name in self.columns)
            raise DataError(
                f"{self.source}: there is no column {', '.join(map(repr, missing))}; of the names that are asked for, "
                f"its first line has {found or 'none'}, and {len(self.columns)} columns in all: correct the column's "
                "name in the job, the table's first line, which must name the columns, or data.delimiter"
            )

    def texts(self, name: str) -> Texts:
        """A column of texts."""
        column = self._column(name)
        if column.dtype == np.float64:
            raise DataError(
                f"{self.source}: the column {name!r} holds measured numbers, which have no values to count; ask for "
                "its mean or its quantiles"
            )
        return column.astype(object)

    def numbers(self, name: str, *, advice: str = LEAVE_OUT) -> Numbers:
        """A column of finite numbers, or `DataError` with the first line where there is none and with the advice."""
        column = self._column(name)
        if column.dtype == np.float64:
            if not np.isfinite(column.astype(np.float64)).all():
                raise DataError(f"{self.source}: the column {name!r} holds NaN or infinity; leave those records out")
            return column.astype(np.float64)
        return np.array([self._number(name, line, text, advice) for line, text in zip(self.lines, column, strict=True)])

    def numbers_or_missing(self, name: str, *, advice: str = LEAVE_OUT) -> Numbers:
        """A column of finite numbers, and NaN where a field is empty."""
        return np.array(
            [
                self._number(name, line, text, advice) if text.strip() else math.nan
                for line, text in zip(self.lines, self.texts(name), strict=True)
            ],
            dtype=np.float64,
        )

    def select(self, indices: NDArray[np.int64]) -> "Table":
        """The records at these places, in that order."""
        columns = {name: column[indices] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[indices])

    def first_of_each(self, name: str, records: int) -> "Table":
        """Keep the first `records` lines of each value of a column: nobody's depend on anybody else's."""
        seen, kept = Counter[str](), list[int]()
        for place, value in enumerate(self.texts(name)):
            seen[value] += 1
            if seen[value] <= records:
                kept.append(place)
        return self.select(np.array(kept, dtype=np.int64))

    def _column(self, name: str) -> Texts | Numbers:
        self.require([name])
        return self.columns[name]

    def _number(self, name: str, line: int, text: str, advice: str) -> float:
        try:
            number = math.nan if "_" in text else float(text)  # Python takes 1_000 for a number; nobody else does
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{self.source}, line {line}: the column {name!r} does not hold a number there; write numbers as 12.5; "
                f"{advice}"
            )
        return number


def read_table(path: Path, delimiter: str = ",") -> Table:
    """A CSV file in UTF-8, with or without a byte order mark; its first line names the columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            numbered = [(reader.line_num, row) for row in reader if row]
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); correct data in the job") from error
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; save the table as CSV in UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path} is not a CSV file ({error}); check its quotes and data.delimiter") from error
    if not numbered:
        raise DataError(f"{path} is empty, expected the names of the columns and then a line for each record")
    (_, names), *rows = numbered
    _check_names(path, names)
    if not rows:
        raise DataError(f"{path} holds no records, only the names of the columns; add a line for each record")
    for line, row in rows:
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {line}: {len(row)} fields, expected {len(names)} as in the first line; quote fields "
                "that hold a delimiter, or check data.delimiter"
            )
    columns = {name: texts_of([row[place] for _, row in rows]) for place, name in enumerate(names)}
    return Table(str(path), columns, np.array([line for line, _ in rows], dtype=np.int64))


def example_table(examples: Examples) -> Table:
    """Labels or targets of examples, and mean pixels of images, so that they can be asked about like a table."""
    columns = dict[str, Texts | Numbers]()
    if examples.labels.ndim == 1 and examples.classes:
        columns["label"] = texts_of([str(label) for label in examples.labels.tolist()])
    elif examples.labels.ndim == 1:
        columns["target"] = examples.labels.double().numpy()
    if is_image(examples.shape):
        columns["brightness"] = examples.inputs.double().mean(dim=(1, 2, 3)).numpy()
    return Table("the examples", columns, np.arange(1, len(examples) + 1), of_examples=True)


def _check_names(path: Path, names: Sequence[str]) -> None:
    if not all(name.strip() for name in names):
        raise DataError(f"{path}, line 1: a column has no name; name every column")
    if len(set(names)) != len(names):
        raise DataError(f"{path}, line 1: two columns have the same name; rename one")


def texts_of(values: list[str]) -> Texts:
    """A column of these texts."""
    texts = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts
