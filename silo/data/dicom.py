"""DICOM files: pixels in the modality's units, through a declared window. Needs the extra `dicom`.

Only pixels and what it takes to read them are looked at. No other tag of a file is kept, and no message of the library
that reads it is passed on, because it may quote a tag.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import DicomFolders, Window
from siloseal.silo.data.class_folders import labelled_pictures
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.paths import located
from siloseal.silo.data.pictures import Picture
from siloseal.silo.data.pixels import resize
from siloseal.silo.data.scaling import scaled

if TYPE_CHECKING:
    from pydicom import Dataset

SUFFIXES = frozenset({".dcm"})
_TAGS = [
    "Rows", "Columns", "SamplesPerPixel", "PhotometricInterpretation", "NumberOfFrames", "BitsAllocated", "BitsStored",
    "HighBit", "PixelRepresentation", "PlanarConfiguration", "RescaleSlope", "RescaleIntercept", "ModalityLUTSequence",
    "PixelData",
]  # fmt: skip
_DECOMPRESS = (
    "decompress it first (`gdcmconv --raw IN OUT`, or `dcmdjpeg IN OUT`), or install a decoder that pydicom knows: "
    "pip install pylibjpeg pylibjpeg-libjpeg pylibjpeg-openjpeg"
)


def read_dicom_folders(source: DicomFolders) -> Examples:
    """Every DICOM file of the class folders, as one grey channel in [0, 1]."""
    _require_pydicom()
    decoded = partial(decode, side=source.side, window=source.window)
    return labelled_pictures(located(source.path), source.class_names, SUFFIXES, decoded)


def decode(picture: Picture, *, side: int, window: Window) -> Tensor:
    """The image as float32 (1, side, side) in [0, 1]: black is the lower end of the window."""
    from pydicom import dcmread

    try:
        with _in_silence():
            dataset = dcmread(BytesIO(picture.content()), specific_tags=list(_TAGS))
            _require_one_grey_image(dataset, picture.name)
            values = _modality_values(dataset, picture.name)  # (H, W)
            inverted = dataset.PhotometricInterpretation == "MONOCHROME1"  # whose lowest value is shown white
    except DataError:
        raise
    except Exception:  # noqa: BLE001 (what the library raises over damaged files is no closed list)
        raise DataError(f"{picture.name} cannot be read as a DICOM file; repair or remove it") from None
    half = window.width / 2
    grey = scaled(values, (window.centre - half, window.centre + half)).astype(np.float32)
    return resize(torch.from_numpy(1.0 - grey if inverted else grey)[None, None], side)[0]


def _require_one_grey_image(dataset: "Dataset", name: str) -> None:
    if "PixelData" not in dataset:
        raise DataError(f"{name} holds no pixels, expected an image; remove it")
    if dataset.PhotometricInterpretation not in ("MONOCHROME1", "MONOCHROME2"):
        raise DataError(
            f"{name} holds colours, expected greys (MONOCHROME1 or MONOCHROME2); convert it to PNG and use data.kind "
            "folder"
        )
    if "ModalityLUTSequence" in dataset:
        raise DataError(
            f"{name} turns stored values into units by a table, expected rescale slope and intercept; apply the table "
            "and store the result"
        )


def _modality_values(dataset: "Dataset", name: str) -> NDArray[np.float64]:
    """Stored values in the modality's units, such as Hounsfield units; all bits of their depth count."""
    syntax = dataset.file_meta.TransferSyntaxUID
    try:
        stored = np.asarray(dataset.pixel_array).astype(np.float64)
    except Exception:
        if not syntax.is_compressed:
            raise
        raise DataError(f"{name} is compressed ({syntax.name}), and cannot be decoded here; {_DECOMPRESS}") from None
    if stored.ndim != 2:  # whatever the file says of its number of frames
        raise DataError(
            f"{name} holds several frames, expected one image a file; store its frames as files of their own"
        )
    return stored * float(dataset.get("RescaleSlope", 1.0)) + float(dataset.get("RescaleIntercept", 0.0))


def _require_pydicom() -> None:
    try:
        import pydicom  # noqa: F401
    except ImportError:
        raise DataError(
            "data.kind dicom needs the package pydicom, which is not installed; run: pip install 'siloseal[dicom]'"
        ) from None


@contextmanager
def _in_silence() -> Iterator[None]:
    """Warnings and log lines of the library quote the tags that they are about: none is shown."""
    logger = logging.getLogger("pydicom")
    disabled, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = disabled
