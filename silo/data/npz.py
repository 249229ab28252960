"""NumPy archives: a silo's own `images` and `labels`, or MedMNIST's splits.

Never with pickle: a pickled array runs code when it is read.
"""

import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import MOST_CLASSES
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pixels import unit_range


def read_npz(path: Path, classes: int | None) -> tuple[Examples, Examples | None]:
    """The training set, and the test set where the file has one.

    MedMNIST's validation split joins the training set: nothing here chooses a model by it.
    """
    arrays = _arrays(path)
    if "images" in arrays or "labels" in arrays:
        train, test = _split(arrays, "", path), None
    else:
        train = _split(arrays, "train_", path)
        if "val_images" in arrays:
            train = _join(train, _split(arrays, "val_", path), path)
        test = _split(arrays, "test_", path) if "test_images" in arrays else None
    labels = [train[1]] + ([test[1]] if test else [])
    top = max((int(part.max()) for part in labels if len(part)), default=0)
    if classes is None and top >= MOST_CLASSES:
        raise DataError(f"{path} holds labels up to {top}, expected classes numbered from 0; renumber them")
    known = classes or top + 1
    return Examples(*train, known), Examples(*test, known) if test else None


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
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
        "write images and labels with numpy.savez"
    )


def _split(arrays: dict[str, NDArray[np.generic]], prefix: str, path: Path) -> tuple[Tensor, Tensor]:
    for key in (f"{prefix}images", f"{prefix}labels"):
        if key not in arrays:
            raise DataError(
                f"{path} holds the arrays {sorted(arrays)}, expected images and labels, or train_images and "
                f"train_labels (and val_*, test_*); {key} is missing: rename or add it"
            )
    return _images(arrays[f"{prefix}images"], path), _labels(arrays[f"{prefix}labels"], path)


def _join(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], path: Path) -> tuple[Tensor, Tensor]:
    if first[0].shape[1:] != second[0].shape[1:]:
        raise DataError(
            f"{path} holds training images of {tuple(first[0].shape[1:])} but validation images of "
            f"{tuple(second[0].shape[1:])}, expected one shape; resize one split"
        )
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])


def _images(stored: NDArray[np.generic], path: Path) -> Tensor:
    """Images (N, C, H, W) from (N, H, W), from channels last, which MedMNIST uses, or from channels first."""
    if stored.ndim == 3:  # (N, H, W)
        stored = stored[:, np.newaxis]
    elif stored.ndim == 4 and stored.shape[3] in (1, 3):  # (N, H, W, C)
        stored = stored.transpose(0, 3, 1, 2)
    elif stored.ndim != 4 or stored.shape[1] not in (1, 3):  # (N, C, H, W)
        raise DataError(
            f"{path} holds images of shape {stored.shape}, expected (N, H, W), (N, H, W, 1 or 3) or (N, 1 or 3, H, W); "
            "reshape them"
        )
    return unit_range(stored, str(path)).contiguous()


def _labels(stored: NDArray[np.generic], path: Path) -> Tensor:
    """Labels (N,) from (N,) or MedMNIST's (N, 1)."""
    if stored.ndim == 2 and stored.shape[1] == 1:  # (N, 1)
        stored = stored[:, 0]
    if stored.ndim != 1 or stored.dtype.kind not in "iu":
        raise DataError(
            f"{path} holds labels of type {stored.dtype} and shape {stored.shape}, expected whole numbers of shape "
            "(N,) or (N, 1); give each image one class number (several labels an image are not supported)"
        )
    return torch.from_numpy(stored.astype(np.int64))
