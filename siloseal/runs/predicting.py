"""A released classifier at work: what it makes of records, and a table of it."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.sections.data import NpzFile
from siloseal.federation.job.sections.tables import CsvRecords
from siloseal.federation.records.storage import write_atomically
from siloseal.models.evaluation.classification import Measures, measure, probabilities_of
from siloseal.models.evaluation.outputs import outputs_of
from siloseal.models.gan.generators import Generator
from siloseal.models.meta.model import FewShotModel
from siloseal.models.model_files import GLOBAL_MODEL, StoredModel, job_of, read_classifier, run_folder_of
from siloseal.run_folder.run import read_summary
from siloseal.runs.class_names import target_names
from siloseal.runs.prediction_inputs import Asked, Expected, framing_of, read_asked, require_finite, require_shape

BINS = 10
"""Bins of confidence in which calibration is measured."""


class Predicted(NamedTuple):
    """What a classifier makes of records: the class that it names, and what it holds likely.

    >>> import numpy
    >>> named = siloseal.predict("classifier.safetensors", numpy.zeros((2, 1, 8, 8)))
    >>> named.labels.shape, named.probabilities.shape
    ((2,), (2, 10))
    """

    labels: NDArray[np.int64]  # (N,)
    """Number of the class that each record is named, the one of the largest probability."""
    probabilities: NDArray[np.float64]  # (N, classes)
    """Probability of each class. Whether it can be taken at its word is what the report's calibration says."""


@dataclass(frozen=True)
class NamedRecords:
    """Records of a file or folder with what a classifier makes of them."""

    asked: Asked
    predicted: Predicted
    names: tuple[str, ...]
    """Names of the classes; empty where they are not known."""
    measures: Measures | None
    """How well the records are named, where it is known what they are."""


def predict(model: nn.Module | Path, inputs: object, *, code: str | None = None) -> Predicted:
    """Name records, given as an array of floats (count, ...) or as the path of their file, by a network or its file."""
    if isinstance(inputs, Path):
        if isinstance(model, nn.Module):
            raise ConfigError(
                f"{inputs} is read as the training data were, which a {type(model).__name__} does not tell; give the "
                "model's file or its run's folder, or an array"
            )
        return name_records(model, inputs, code=code).predicted
    rows = as_rows(inputs)
    if isinstance(model, Path):
        stored = read_classifier(model, code=code)
        require_shape(rows, stored.shape, "the inputs")
        model = stored.network
    if isinstance(model, Generator | FewShotModel):
        use = "sample" if isinstance(model, Generator) else "adapt"
        raise ConfigError(
            f"a {type(model).__name__} names no classes, expected a classifier; use siloseal.{use} for it"
        )
    return _predicted(_outputs(model, rows))


def name_records(
    model: Path,
    source: Path,
    class_names: Sequence[str] = (),
    *,
    delimiter: str | None = None,
    code: str | None = None,
) -> NamedRecords:
    """Name the records of a file or folder, read as training read its own. `model` is a run's folder or a file."""
    path = model / GLOBAL_MODEL if model.is_dir() else model
    stored = read_classifier(path, code=code)
    expected = expected_by(stored, path, tuple(class_names), delimiter)
    asked = read_asked(source, expected)
    outputs = _outputs(stored.network, asked.inputs)
    measures = None if asked.labels is None else measure(outputs, asked.labels, bins=BINS)
    return NamedRecords(asked, _predicted(outputs), asked.names, measures)


def expected_by(
    stored: StoredModel, path: Path, class_names: tuple[str, ...], delimiter: str | None = None
) -> Expected:
    """What the classifier takes, with what its run's folder, if it is in one, says of training data and classes."""
    data = None if (job := job_of(path)) is None else job.data
    summary = run_folder_of(path) / "summary.json"
    side, margin = (None, 0) if data is None else framing_of(data)
    described = read_summary(summary).model if summary.is_file() else None
    names = class_names or (() if stored.columns is None else target_names(stored.columns))
    names = names or (described.class_names if described is not None else ())
    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError(f"the delimiter is {quoted(delimiter)}, expected one character")
    if names and len(names) != stored.classes:
        raise ConfigError(
            f"found {len(names)} names of classes, but the model knows {stored.classes}; name every class once, in the "
            "order of their numbers"
        )
    return Expected(
        stored.shape,
        stored.classes,
        names,
        side,
        margin,
        range=data.range if isinstance(data, NpzFile) else None,
        columns=stored.columns,
        delimiter=delimiter or (data.delimiter if isinstance(data, CsvRecords) else ","),
    )


def as_rows(inputs: object) -> Tensor:
    """Records (N, ...) in float32; `DataError` for anything else, and for numbers that are not finite."""
    try:
        rows = inputs.detach().cpu() if isinstance(inputs, Tensor) else torch.from_numpy(np.array(inputs))
    except (TypeError, ValueError) as error:
        raise DataError(f"found a {type(inputs).__name__}, expected an array of floats (count, ...)") from error
    if rows.ndim < 2 or not len(rows) or not (rows.is_floating_point() or rows.dtype == torch.bool):
        raise DataError(
            f"found inputs of {rows.dtype} and shape {tuple(rows.shape)}, expected floats of shape (count, ...), at "
            "least one record, scaled as the training data were: pixels lie in [0, 1]"
        )
    require_finite(rows, "the inputs")
    return rows.float()


def write_table(path: Path, named: NamedRecords) -> None:
    """Write a CSV file with one line a record."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    header, rows = table_of(named)
    writer.writerow(header)
    writer.writerows(rows)
    try:
        write_atomically(path, text.getvalue().encode(errors="surrogateescape"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error}); choose another path") from error


def table_of(named: NamedRecords) -> tuple[list[str], list[list[str]]]:
    """The columns of the CSV file, and a line for each record: its file, or its place from 0."""
    asked, (labels, shares), names = named.asked, named.predicted, named.names
    actual = None if asked.labels is None else asked.labels.tolist()
    header = ["file" if asked.sources else "row", "predicted", *(["name"] if names else []), "probability"]
    header += [f"probability of {names[label] if names else label}" for label in range(shares.shape[1])]
    header += [] if actual is None else ["actual", *(["actual name"] if names else [])]
    lines = list[list[str]]()
    for place, (label, row) in enumerate(zip(labels.tolist(), shares.tolist(), strict=True)):
        line = [asked.sources[place] if asked.sources else str(place), str(label), *([names[label]] if names else [])]
        line += [f"{value:.6f}" for value in (row[label], *row)]
        if actual is not None:
            line += [str(actual[place]), *([names[actual[place]]] if names else [])]
        lines.append(line)
    return header, lines


def _outputs(network: nn.Module, rows: Tensor) -> Tensor:
    try:
        return outputs_of(network, rows)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:  # whatever a forward pass raises over a shape
        raise DataError(
            f"the network cannot take records of shape {tuple(rows.shape[1:])} ({type(error).__name__}: {error}); give "
            "those that it was trained for"
        ) from error


def _predicted(outputs: Tensor) -> Predicted:
    shares = probabilities_of(outputs)
    return Predicted(shares.argmax(1), shares)
