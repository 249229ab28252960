"""Records of a table as examples, by the columns that a job declares.

Every number of an example follows from its own record and from the declaration: nothing is taken from other records.
Errors name the file, the line and the column, and never what stands there.
"""

from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.columns import CategoryColumn, Column, Columns, NumberColumn, NumberTarget, Target
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.scaling import Floats, scaled
from siloseal.silo.data.tables import Table

Flags = NDArray[np.bool_]

MIDDLE = 0.5
"""What a missing number counts as, once its range is 0 to 1."""
UNKNOWN = -1
"""Place of a value that is not declared."""


_WORDS = 'declare a column of words as `kind: category` with its values in quotes, `values: ["yes", "no"]`'
_NO_NUMBER = (
    "leave the field empty where nothing is known, without NA, NULL or -, and declare `missing: middle` or `missing: "
    f"indicator` for the column; {_WORDS}"
)
_NO_TARGET = (
    "leave the field empty where nothing is known, without NA, NULL or -, and declare `missing: leave_out` for the "
    f"target; {_WORDS}"
)
"""The advice is the same whatever stands in the field: another one for each would tell what does."""


def encode(table: Table, declared: Columns) -> Examples:
    """The records as examples (N, inputs), with their classes, or with measured targets in [0, 1]."""
    table.require([declared.target.name, *(column.name for column in declared.columns)])
    table = _with_targets(table, declared.target)
    return Examples(encode_inputs(table, declared), _labels(table, declared.target), declared.target.classes)


def encode_inputs(table: Table, declared: Columns) -> Tensor:
    """What a model is given of the records, float32 (N, inputs). The target need not be in the table."""
    table.require(column.name for column in declared.columns)
    blocks = [_inputs(table, column) for column in declared.columns]  # each (N, the column's inputs)
    return torch.from_numpy(np.concatenate(blocks, axis=1).astype(np.float32))


def encode_known_targets(table: Table, target: Target) -> Tensor | None:
    """Classes or measured targets (N,) of records that are to be predicted; None where nothing is known of any.

    A table in which some are known is refused, whatever the job leaves out in training: a record that is asked about
    must not be passed over.
    """
    if target.name not in table.columns or (missing := _missing(table, target.name)).all():
        return None
    _require_none(table, target.name, missing, "fill it in to test on all records, or take the column out of the file")
    return _labels(table, target)


def _inputs(table: Table, column: Column) -> Floats:
    match column:
        case NumberColumn():
            found = table.numbers_or_missing(column.name, advice=_NO_NUMBER)
            numbers = scaled(found, column.range, log=column.scale == "log")
            missing = np.isnan(numbers)
            block = np.where(missing, MIDDLE, numbers)[:, np.newaxis]
        case CategoryColumn():
            places, missing = _places(table, column.name, column.values)
            block = (places[:, np.newaxis] == np.arange(len(column.values))).astype(np.float64)
            if column.other:
                block = _with_flag(block, (places == UNKNOWN) & ~missing)
        case _:
            assert_never(column)
    if column.missing == "refuse":
        _require_none(table, column.name, missing, "declare what it counts as with `missing`, or leave the record out")
    return _with_flag(block, missing) if column.missing == "indicator" else block


def _labels(table: Table, target: Target) -> Tensor:
    if isinstance(target, NumberTarget):
        measured = scaled(table.numbers(target.name, advice=_NO_TARGET), target.range, log=target.scale == "log")
        return torch.from_numpy(measured.astype(np.float32))
    places, _ = _places(table, target.name, target.values)
    if len(strangers := np.flatnonzero(places == UNKNOWN)):
        raise DataError(
            f"{table.source}, line {table.lines[strangers[0]]}: the column {target.name!r} holds none of the declared "
            "classes there; correct it, add the class to data.target.values in the job, or leave the record out"
        )
    return torch.from_numpy(places)


def _with_targets(table: Table, target: Target) -> Table:
    """The records that have a target; those without are left out only where the job says so."""
    missing = _missing(table, target.name)
    if target.missing == "refuse":
        _require_none(table, target.name, missing, "fill it in, or declare `missing: leave_out` for the target")
        return table
    if missing.all():
        raise DataError(f"{table.source}: the column {target.name!r} is empty in every record; nothing can be learnt")
    return table.select(np.flatnonzero(~missing))


def _places(table: Table, name: str, values: tuple[str, ...]) -> tuple[NDArray[np.int64], Flags]:
    """The place of each field among these values, and which fields are empty. Spaces around a field do not count."""
    known = {value: place for place, value in enumerate(values)}
    texts = [text.strip() for text in table.texts(name)]
    places = np.array([known.get(text, UNKNOWN) for text in texts], dtype=np.int64)
    return places, np.array([not text for text in texts], dtype=np.bool_)


def _missing(table: Table, name: str) -> Flags:
    return np.array([not text.strip() for text in table.texts(name)], dtype=np.bool_)


def _require_none(table: Table, name: str, missing: Flags, advice: str) -> None:
    if missing.any():
        line = table.lines[np.flatnonzero(missing)[0]]
        raise DataError(f"{table.source}, line {line}: the column {name!r} is empty there; {advice}")


def _with_flag(block: Floats, flags: Flags) -> Floats:
    return np.concatenate([block, flags[:, np.newaxis].astype(np.float64)], axis=1)
