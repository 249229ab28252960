"""MNIST's IDX files: a big-endian header (magic, then one size a dimension) followed by unsigned bytes."""

import gzip
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pixels import unit_range

IMAGES_MAGIC = 0x0803  # unsigned bytes, three dimensions
LABELS_MAGIC = 0x0801  # unsigned bytes, one dimension
IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_GZIP_MAGIC = b"\x1f\x8b"
_CLASSES = 10  # of MNIST and of Fashion-MNIST


def read_idx_folder(folder: Path) -> tuple[Examples, Examples]:
    """The training and the test set of a folder that holds all four files."""
    train_images, train_labels, test_images, test_labels = (locate(folder, name) for name in IDX_NAMES)
    return _read_pair(train_images, train_labels), _read_pair(test_images, test_labels)


def missing_from(folder: Path) -> list[str]:
    """The names of the files that the folder lacks in both forms."""
    return [name for name in IDX_NAMES if not any(path.is_file() for path in _forms(folder, name))]


def locate(folder: Path, name: str) -> Path:
    """The file of that name, plain or gzipped."""
    for path in _forms(folder, name):
        if path.is_file():
            return path
    raise DataError(
        f"{folder} lacks {name} and {name}.gz; put MNIST's four IDX files there, or set download: true in the config"
    )


def _forms(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / name, folder / f"{name}.gz"


def _read_pair(images_path: Path, labels_path: Path) -> Examples:
    images = _read_idx(images_path, IMAGES_MAGIC)  # (N, H, W)
    labels = _read_idx(labels_path, LABELS_MAGIC)  # (N,)
    if len(images) != len(labels):
        raise DataError(
            f"{images_path.name} holds {len(images)} images but {labels_path.name} {len(labels)} labels, "
            f"expected as many; replace both files in {images_path.parent} by a matching pair"
        )
    pixels = unit_range(images[:, np.newaxis], str(images_path))
    return Examples(pixels, torch.from_numpy(labels.astype(np.int64)), _CLASSES)


def _read_idx(path: Path, magic: int) -> NDArray[np.uint8]:
    content = _content(path)
    dimensions = magic & 0xFF
    header_bytes = 4 + 4 * dimensions
    if len(content) < header_bytes:
        raise DataError(f"{path} has {len(content)} bytes, less than an IDX header of {header_bytes}; fetch it again")
    found_magic, *shape = struct.unpack_from(f">{1 + dimensions}I", content)
    if found_magic != magic:
        raise DataError(
            f"{path} starts with {found_magic:#010x}, expected {magic:#010x} for an IDX file of unsigned bytes in "
            f"{dimensions} dimensions; check that images and labels are not swapped, or fetch it again"
        )
    expected, found = prod(shape), len(content) - header_bytes
    if found != expected:
        raise DataError(
            f"{path} announces {' x '.join(map(str, shape))} = {expected} bytes but holds {found}; "
            "it is truncated or damaged: fetch it again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header_bytes).reshape(shape)


def _content(path: Path) -> bytes:
    """The file's bytes, unpacked if they are gzipped: browsers unpack a download and keep the .gz in its name."""
    try:
        stored = path.read_bytes()
        return gzip.decompress(stored) if stored.startswith(_GZIP_MAGIC) else stored
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); fetch it again or correct its permissions") from error
