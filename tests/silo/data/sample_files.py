"""The bytes of small data files."""

import struct

import numpy as np
from numpy.typing import NDArray

IMAGES_MAGIC = 0x0803
LABELS_MAGIC = 0x0801


def idx_bytes(array: NDArray[np.uint8], magic: int) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()


def pixels(*shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(7).integers(0, 256, size=shape, dtype=np.uint8)


def cycling_labels(count: int, classes: int) -> NDArray[np.uint8]:
    return (np.arange(count) % classes).astype(np.uint8)
