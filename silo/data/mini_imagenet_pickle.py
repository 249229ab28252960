"""One split of Mini-ImageNet as a pickle: {"image_data": uint8 (N, 84, 84, 3), "class_dict": {name: indices}}."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siloseal.federation.errors import DataError
from siloseal.silo.data.named_images import NamedImages, resized
from siloseal.silo.data.pickled_array import PickledArray
from siloseal.silo.data.safe_pickle import read_pickle

_NO_CLASS = -1
SMALLEST_SIDE = 8  # a small file of a million dots would fill the memory when they are enlarged


def read_split(path: Path, *, side: int) -> NamedImages:
    """The split's images at side x side, classes in alphabetical order; images of no class are left out."""
    match read_pickle(path):
        case {"image_data": PickledArray() as images, "class_dict": dict() as indices}:
            pixels = _pixels(images, path)
            names, labels = _labels(indices, len(pixels), path)
        case _:
            raise DataError(
                f"{path} holds something else than a dict of the array image_data and the dict class_dict; "
                "fetch it again, or use another form of Mini-ImageNet"
            )
    used = np.flatnonzero(labels != _NO_CLASS)
    chosen = pixels if len(used) == len(pixels) else pixels[used]
    return NamedImages(resized(chosen, side, str(path)), labels[used], names)


def _pixels(images: PickledArray, path: Path) -> NDArray[np.uint8]:
    stored = images.numpy()
    if stored.dtype != np.uint8 or stored.ndim != 4 or stored.shape[3] != 3 or min(stored.shape[1:3]) < SMALLEST_SIDE:
        raise DataError(
            f"{path} holds image_data of {stored.dtype} and shape {stored.shape}, expected uint8 of shape "
            f"(N, height, width, 3) with sides of {SMALLEST_SIDE} or more; fetch it again"
        )
    return np.ascontiguousarray(stored.transpose(0, 3, 1, 2), dtype=np.uint8)  # (N, 3, H, W)


def _labels(indices: dict[object, object], images: int, path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The classes' names in order, and each image's place among them."""
    names = sorted(name for name in indices if isinstance(name, str) and name)
    if len(names) != len(indices) or not names:
        raise DataError(f"{path} holds a class_dict of {len(indices)} keys, expected names of classes; fetch it again")
    labels = np.full(images, _NO_CLASS, dtype=np.int64)
    for label, name in enumerate(names):
        members = _members(indices[name], name, path)
        if not members or min(members) < 0 or max(members) >= images:
            raise DataError(
                f"{path}: the class {name[:80]!r} has {len(members)} images with numbers outside 0 to {images - 1}, or "
                "none; it does not fit image_data: fetch it again"
            )
        if len(set(members)) != len(members) or (labels[members] != _NO_CLASS).any():
            raise DataError(f"{path}: an image of the class {name[:80]!r} is in two classes, or twice; fetch it again")
        labels[members] = label
    return tuple(names), labels


def _members(indices: object, name: str, path: Path) -> list[int]:
    """Numbers of images, from a list of Python 2 or 3 or an array. A shared array serves one class; a second fails."""
    found = indices.numpy().tolist() if isinstance(indices, PickledArray) else indices
    if not isinstance(found, list) or not all(type(index) is int for index in found):
        raise DataError(f"{path}: the class {name[:80]!r} lists something else than numbers of images; fetch it again")
    return found
