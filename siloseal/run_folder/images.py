"""Generated images on disk: arrays of samples, and grids of them as PNG.

Everywhere here images are uint8 arrays (N, C, H, W), with one channel (grey) or three (RGB).
"""

import io
import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from siloseal.federation.errors import DataError, RunError
from siloseal.federation.records.storage import write_atomically

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]

PAPER = 170  # grey between the images of a grid: neither their black nor their white


def quantise(images: Tensor) -> Images:
    """float32 (N, C, H, W) in [0, 1] as uint8; values outside are cut off, not wrapped around."""
    scaled = images.detach().clamp(0, 1).mul(255).round().cpu().numpy()
    return np.asarray(scaled, dtype=np.uint8)


def write_npz(path: Path, images: Images, labels: Labels, *, mode: int = 0o644) -> None:
    """Write samples with their labels, in one step: a reader sees the whole file or none."""
    check(images, labels)
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, images=images, labels=labels)
    write_atomically(path, buffer.getvalue(), mode=mode)


def read_npz(path: Path) -> tuple[Images, Labels]:
    """Samples that `write_npz` wrote; never unpickles."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays["images"], arrays["labels"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RunError(f"{path} holds no samples; restore the file, or run the job again") from error
    check(images, labels)
    return images, labels


def class_rows(images: Images, labels: Labels, *, columns: int) -> Images:
    """A grid (C, H, W) with one row a class, in order of label; a class with fewer images leaves its row short."""
    check(images, labels)
    rows = [images[labels == label][:columns] for label in np.unique(labels)]
    return paste(rows, columns)


def square_grid(images: Images, *, side: int) -> Images:
    """A grid (C, H, W) of the first side * side images; fewer images fill a smaller square, row by row."""
    check(images, np.zeros(len(images), dtype=np.int64))
    columns = min(side, math.ceil(math.sqrt(len(images))))
    shown = images[: columns * columns]
    return paste([shown[start : start + columns] for start in range(0, len(shown), columns)], columns)


def gap_of(height: int) -> int:
    """Pixels between the images of a grid, before it is enlarged."""
    return max(1, round(height / 8))


def paste(rows: list[Images], columns: int, *, paper: int = PAPER) -> Images:
    """Rows of images on one canvas (C, H, W), with `paper` between them."""
    channels, height, width = rows[0].shape[1:]
    columns = min(columns, max(len(row) for row in rows))
    gap = gap_of(height)
    high, wide = height + gap, width + gap
    grid = np.full((channels, len(rows) * high - gap, columns * wide - gap), paper, dtype=np.uint8)
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            grid[:, y * high : y * high + height, x * wide : x * wide + width] = image
    return grid


def png_bytes(grid: Images, *, scale: int = 1) -> bytes:
    """A grid (C, H, W) as PNG, every pixel enlarged to scale * scale."""
    picture = Image.fromarray(grid[0] if len(grid) == 1 else np.ascontiguousarray(grid.transpose(1, 2, 0)))
    if scale > 1:
        picture = picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def write_png(path: Path, grid: Images, *, scale: int = 1) -> None:
    """Write a grid as a PNG file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(grid, scale=scale))


def check(images: Images, labels: Labels) -> None:
    """Refuse arrays that are no images with labels."""
    if images.ndim != 4 or images.dtype != np.uint8 or images.shape[1] not in (1, 3) or len(images) == 0:
        raise DataError(f"found images {images.dtype} {images.shape}; expected uint8 (N, 1 or 3, H, W), N above 0")
    if labels.shape != images.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(f"found labels {labels.dtype} {labels.shape}; expected {len(images)} integers")
