"""Small real files of every format, written by the tests that read them."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from .sample_files import IMAGES_MAGIC, LABELS_MAGIC, cycling_labels, idx_bytes, pixels


@pytest.fixture
def idx_folder(tmp_path: Path) -> Path:
    """20 training and 10 test images of 6x5; the training files gzipped, the test files plain."""
    for prefix, count, packed in (("train", 20, True), ("t10k", 10, False)):
        for name, content in (
            (f"{prefix}-images-idx3-ubyte", idx_bytes(pixels(count, 6, 5), IMAGES_MAGIC)),
            (f"{prefix}-labels-idx1-ubyte", idx_bytes(cycling_labels(count, 10), LABELS_MAGIC)),
        ):
            if packed:
                (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
            else:
                (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def class_folders(tmp_path: Path) -> Path:
    """Two classes: `normal` with six bright PNGs, `pneumonia` with four dark JPEGs, of different sizes."""
    for name, count, grey, suffix in (("normal", 6, 255, "png"), ("pneumonia", 4, 0, "jpg")):
        folder = tmp_path / name
        folder.mkdir()
        for number in range(count):
            Image.new("L", (10 + number, 12), color=grey).save(folder / f"{number}.{suffix}")
    return tmp_path


@pytest.fixture
def npz_file(tmp_path: Path) -> Callable[..., Path]:
    def write(**arrays: NDArray[np.generic]) -> Path:
        path = tmp_path / "data.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    return write
