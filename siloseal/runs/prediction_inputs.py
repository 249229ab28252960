"""Records that a released classifier is to name, read from a file or a folder as its training read its own.

What training did to its records is taken from the job, where that is known: sizes and margins of images, and the
declared range of arrays. The columns of a table are in the model's file.
"""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from siloseal.federation.config.fields import Range
from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.columns import Columns
from siloseal.federation.job.sections.data import ClassFolders, DataSource, Digits, EmbeddedMnist, IdxFiles, NpzFile
from siloseal.federation.shapes import Shape, image_shape
from siloseal.silo.data.npz import images_of, rows_of
from siloseal.silo.data.pictures import Colour, Picture, decode, pictures_in
from siloseal.silo.data.pixels import resize
from siloseal.silo.data.records import encode_inputs, encode_known_targets
from siloseal.silo.data.tables import read_table

Arrays = Mapping[str, NDArray[np.generic]]

SPLITS = (("images", "labels"), ("x", "y"), ("test_images", "test_labels"), ("x_test", "y_test"))
"""Arrays of an .npz that are looked for, in this order: inputs, and what they are where that is known."""

_READ = "an .npz or .csv file, or a folder of pictures or of class folders"


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """Records to be named. It prints its shape only: the contents are somebody's."""

    inputs: Tensor
    """float32 (N, ...)."""
    sources: tuple[str, ...]
    """File of each record; empty where records have numbers only."""
    labels: Tensor | None
    """int64 (N,): what each record is; None where nobody knows."""
    names: tuple[str, ...]
    """Names of the classes in the order of their numbers; empty where they are not known."""

    def __repr__(self) -> str:
        return f"Asked({len(self.inputs)} of shape {tuple(self.inputs.shape[1:])})"


@dataclass(frozen=True)
class Expected:
    """What a classifier takes and gives."""

    shape: Shape
    classes: int
    names: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers; empty where they are not known."""
    side: int | None = None
    """Side that training resized its images to, margins included; None where it did not, or that is not known."""
    margin: int = 0
    range: Range | None = None
    """Range that training scaled arrays by; None where it did not, or that is not known."""
    columns: Columns | None = None
    """How a record of a table becomes an example; None for a model of other data."""
    delimiter: str = ","
    """Character between two fields of a line of a table."""


def framing_of(data: DataSource) -> tuple[int | None, int]:
    """The side and the margin that a job's images have in training; neither for other data."""
    match data:
        case ClassFolders(side=side, margin=margin) | NpzFile(side=side, margin=margin):
            return side, margin
        case IdxFiles(side=side, margin=margin) | Digits(side=side, margin=margin):
            return side, margin
        case EmbeddedMnist(side=side, margin=margin):
            return side, margin
        case _:
            return None, 0


def read_asked(source: Path, expected: Expected) -> Asked:
    """The records of an .npz archive, of a table, of a folder of pictures, or of a folder of class folders."""
    if source.is_dir():
        return _read_folder(source, expected)
    if source.suffix == ".npz":
        return _read_npz(source, expected)
    if source.suffix == ".csv":
        return _read_csv(source, expected)
    if not source.exists():
        raise DataError(f"{source} does not exist; give {_READ}")
    raise DataError(f"{source} ends in {source.suffix or 'nothing'}, expected {_READ}")


def require_shape(inputs: Tensor, shape: Shape, origin: str) -> None:
    """`DataError` with both shapes for records that the model does not take."""
    if tuple(inputs.shape[1:]) != shape:
        raise DataError(
            f"{origin}: records have shape {tuple(inputs.shape[1:])}, but the model takes {shape}; convert them as the "
            "training data were"
        )


def require_finite(inputs: Tensor, origin: str) -> None:
    """`DataError` for records of which a network would make NaN."""
    if not inputs.isfinite().all():
        raise DataError(f"{origin}: records hold NaN or infinity, expected finite numbers; repair or remove those")


def _read_npz(path: Path, expected: Expected) -> Asked:
    arrays = _arrays(path)
    for inputs_key, labels_key in SPLITS:
        if inputs_key in arrays:
            if inputs_key.endswith("images"):
                inputs = _framed(images_of(arrays[inputs_key], path, expected.range), expected)
            else:
                inputs = rows_of(arrays[inputs_key], path, expected.range)
            require_shape(inputs, expected.shape, str(path))
            require_finite(inputs, str(path))
            labels = _labels(arrays[labels_key], len(inputs), expected, path) if labels_key in arrays else None
            return Asked(inputs, (), labels, expected.names)
    wanted = ", ".join(key for key, _ in SPLITS)
    raise DataError(f"{path} holds the arrays {sorted(arrays)}, expected one of {wanted}; rename the one to predict on")


def _arrays(path: Path) -> Arrays:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except FileNotFoundError:
        raise DataError(f"{path.absolute()} does not exist; correct the path of the records") from None
    except (OSError, EOFError, ValueError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read as an .npz of plain arrays ({error}); write it with numpy.savez from numeric arrays"
        ) from error


def _labels(stored: NDArray[np.generic], count: int, expected: Expected, path: Path) -> Tensor:
    if stored.ndim == 2 and stored.shape[1] == 1:  # as MedMNIST stores them
        stored = stored[:, 0]
    if stored.dtype.kind not in "iu" or stored.shape != (count,):
        raise DataError(
            f"{path}: labels are {stored.dtype} of shape {stored.shape}, expected {count} class numbers; leave them "
            "out if the classes are not known"
        )
    if count and not 0 <= stored.min() <= stored.max() < expected.classes:
        raise DataError(
            f"{path}: labels run from {stored.min()} to {stored.max()}, but the model knows 0 to {expected.classes - 1}"
        )
    return torch.from_numpy(stored.astype(np.int64))


def _read_csv(path: Path, expected: Expected) -> Asked:
    if (declared := expected.columns) is None:
        raise DataError(
            f"{path} is a table, but the model was not trained on one: its job declares no columns; it takes examples "
            f"of shape {expected.shape}, from an .npz or, images, from a folder"
        )
    table = read_table(path, expected.delimiter)
    labels = encode_known_targets(table, declared.target)
    return Asked(encode_inputs(table, declared), (), labels, expected.names)


def _read_folder(folder: Path, expected: Expected) -> Asked:
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    folders = sorted(entry for entry in entries if entry.is_dir())
    if not folders:
        pictures = pictures_in(folder)
        return Asked(_decoded(pictures, expected), _files(pictures), None, expected.names)
    if loose := len(entries) - len(folders):
        raise DataError(f"{folder} holds class folders and {loose} files beside them; move those into folders, or away")
    names = _names_of(folders, expected, folder)
    found = [(picture, names.index(each.name)) for each in folders for picture in pictures_in(each)]
    pictures, labels = [picture for picture, _ in found], torch.tensor([label for _, label in found])
    return Asked(_decoded(pictures, expected), _files(pictures), labels, names)


def _files(pictures: Sequence[Picture]) -> tuple[str, ...]:
    return tuple(picture.name for picture in pictures)


def _names_of(folders: Sequence[Path], expected: Expected, folder: Path) -> tuple[str, ...]:
    """The names by which folders have their classes' numbers: the model's own, or the folders' in order."""
    found = tuple(each.name for each in folders)
    if not expected.names:
        if len(found) != expected.classes:
            raise DataError(
                f"{folder} holds {len(found)} class folders, but the model knows {expected.classes} classes, whose "
                "names are not known here; give them in order with --class-names, or put the pictures into one folder"
            )
        return found
    if strangers := sorted(set(found) - set(expected.names)):
        raise DataError(
            f"{folder} holds the folders {strangers}, but the classes are {list(expected.names)}; rename them, or put "
            "the pictures into one folder"
        )
    return expected.names


def _decoded(pictures: Sequence[Picture], expected: Expected) -> Tensor:
    channels, height, width = image_shape(expected.shape)
    if height != width:
        raise DataError(f"the model takes images of {height}x{width}, but only square ones are read from files")
    colour: Colour = "grey" if channels == 1 else "rgb"
    images = torch.stack([decode(picture, side=height, colour=colour) for picture in pictures])
    return _framed(images, expected)


def _framed(images: Tensor, expected: Expected) -> Tensor:
    """Images as training framed its own."""
    if expected.side is None:
        return images
    return functional.pad(resize(images, expected.side - 2 * expected.margin), [expected.margin] * 4)
