"""NumPy archives: a silo's own `images` and `labels`, `x` and `y` of any shape, or MedMNIST's splits.

Never with pickle: a pickled array runs code when it is read.
"""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.config.fields import Range
from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import MOST_CLASSES, NpzFile
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pixels import unit_range
from siloseal.silo.data.scaling import scaled

Arrays = Mapping[str, NDArray[np.generic]]
Pair = tuple[Tensor, Tensor]
"""Inputs and targets of one split."""

_KEYS = (
    "images and labels, or train_images and train_labels (and val_*, test_*), or x and y, or x_train and y_train (and "
    "x_test, y_test)"
)


def read_npz(path: Path, source: NpzFile) -> tuple[Examples, Examples | None]:
    """The training set, and the test set where the file has one.

    MedMNIST's validation split joins the training set: nothing here chooses a model by it.
    """
    arrays = _arrays(path)
    train, test = (_read_rows if _holds_rows(arrays) else _read_images)(arrays, source)
    if source.target_range is not None:
        return Examples(*train, 0), Examples(*test, 0) if test else None
    labels = [train[1]] + ([test[1]] if test else [])
    top = max((int(part.max()) for part in labels if part.numel()), default=0)
    if source.known_classes is None and top >= MOST_CLASSES:
        raise DataError(f"{path} holds labels up to {top}, expected classes numbered from 0; renumber them")
    known = source.known_classes or top + 1
    return Examples(*train, known), Examples(*test, known) if test else None


def _arrays(path: Path) -> Arrays:
    try:
        with path.open("rb") as file:  # opened here, because numpy leaves it open when the archive is damaged
            if zipfile.is_zipfile(file):
                file.seek(0)
                return dict(np.load(file, allow_pickle=False))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; correct the path in the config") from None
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read as an .npz of plain arrays ({error}); "
            "write it with numpy.savez from numeric arrays, since pickled objects are never loaded"
        ) from error
    raise DataError(
        f"{path} is not a whole .npz archive: cut short, or another kind of file; "
        "write images and labels, or x and y, with numpy.savez"
    )


def _holds_rows(arrays: Arrays) -> bool:
    return bool({"x", "y", "x_train", "y_train"} & set(arrays))


def _read_rows(arrays: Arrays, source: NpzFile) -> tuple[Pair, Pair | None]:
    if source.side is not None:
        raise DataError("side resizes images, but the file holds x and y; leave side out, or store images and labels")
    whole = "x" in arrays or "y" in arrays
    train = _pair(arrays, ("x", "y") if whole else ("x_train", "y_train"), source, images=False)
    if whole or not {"x_test", "y_test"} & set(arrays):
        return train, None
    return train, _pair(arrays, ("x_test", "y_test"), source, images=False)


def _read_images(arrays: Arrays, source: NpzFile) -> tuple[Pair, Pair | None]:
    def split(prefix: str) -> Pair:
        return _pair(arrays, (f"{prefix}images", f"{prefix}labels"), source, images=True)

    if "images" in arrays or "labels" in arrays:
        return split(""), None
    train = split("train_")
    if "val_images" in arrays:
        train = _join(train, split("val_"))
    return train, split("test_") if "test_images" in arrays else None


def _pair(arrays: Arrays, keys: tuple[str, str], source: NpzFile, *, images: bool) -> Pair:
    for key in keys:
        if key not in arrays:
            raise DataError(
                f"{source.path} holds the arrays {sorted(arrays)}, expected {_KEYS}; {key} is missing: rename or add it"
            )
    inputs, targets = (arrays[key] for key in keys)
    read = images_of if images else rows_of
    return read(inputs, source.path, source.range), _targets(targets, source, images=images)


def _join(first: Pair, second: Pair) -> Pair:
    if first[0].shape[1:] != second[0].shape[1:]:
        raise DataError(
            f"training images are {tuple(first[0].shape[1:])} but validation images {tuple(second[0].shape[1:])}, "
            "expected one shape; resize one split"
        )
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])


def _channels_first(stored: NDArray[np.generic], path: Path) -> NDArray[np.generic]:
    """Images (N, C, H, W) from (N, H, W), from channels last, which MedMNIST uses, or from channels first."""
    if stored.ndim == 3:  # (N, H, W)
        return stored[:, np.newaxis]
    if stored.ndim == 4 and stored.shape[3] in (1, 3):  # (N, H, W, C)
        return stored.transpose(0, 3, 1, 2)
    if stored.ndim != 4 or stored.shape[1] not in (1, 3):  # (N, C, H, W)
        raise DataError(
            f"{path} holds images of shape {stored.shape}, expected (N, H, W), (N, H, W, 1 or 3) or (N, 1 or 3, H, W); "
            "reshape them, or store them as x"
        )
    return stored


def images_of(stored: NDArray[np.generic], path: Path, bounds: Range | None) -> Tensor:
    """Images (N, C, H, W) as float32, scaled by the declared range, or by what the type of pixels can hold."""
    images = _channels_first(stored, path)
    return unit_range(images, str(path)).contiguous() if bounds is None else _scaled_inputs(images, bounds)


def rows_of(stored: NDArray[np.generic], path: Path, bounds: Range | None) -> Tensor:
    """Inputs of any shape as float32: scaled by the declared range, or floats as they are."""
    if bounds is not None:
        return _scaled_inputs(stored, bounds)
    if stored.dtype.kind not in "fb":
        raise DataError(
            f"{path}: x is of type {stored.dtype}, expected floats, or a declared range that becomes 0 to 1; set "
            "data.range in the job, from what you know of the values and not from the data"
        )
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        return torch.from_numpy(np.ascontiguousarray(stored, dtype=np.float32))


def _scaled_inputs(stored: NDArray[np.generic], bounds: Range) -> Tensor:
    return _floats(scaled(_numbers(stored, "inputs"), bounds))


def _targets(stored: NDArray[np.generic], source: NpzFile, *, images: bool) -> Tensor:
    """Class numbers, or measured targets scaled by their declared range; (N, 1) becomes (N,)."""
    if stored.ndim == 2 and stored.shape[1] == 1:  # as MedMNIST stores them
        stored = stored[:, 0]
    if source.target_range is not None:
        return _floats(scaled(_numbers(stored, "targets"), source.target_range))
    if stored.dtype.kind not in "iub" or (images and stored.ndim != 1):
        several = "several labels an image are stored as y" if images else "measured targets need data.target_range"
        raise DataError(
            f"labels are of type {stored.dtype} and shape {stored.shape}, expected class numbers, one an example; "
            f"{several}"
        )
    return torch.from_numpy(stored.astype(np.int64))


def _numbers(stored: NDArray[np.generic], what: str) -> NDArray[np.float64]:
    if stored.dtype.kind not in "fiub":
        raise DataError(f"{what} are of type {stored.dtype}, expected numbers; convert them")
    return stored.astype(np.float64)


def _floats(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
