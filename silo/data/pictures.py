"""Pictures in files: finding them, and decoding them."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.silo.data.pixels import resize, unit_range

Colour = Literal["grey", "rgb"]

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm"})

# What Pillow raises over a damaged picture, beside OSError, depends on the format and on where the damage is.
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


@dataclass(frozen=True)
class Picture:
    """A picture that is not decoded yet: its name for people, its stamp to tell whether it changed, and its bytes."""

    name: str
    stamp: tuple[int, ...]
    content: Callable[[], bytes]

    @staticmethod
    def of_file(path: Path) -> "Picture":
        return Picture(str(path), file_stamp(path), path.read_bytes)


def file_stamp(path: Path) -> tuple[int, int]:
    """Size and time of change of a file, which show that it changed without reading it."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def subfolders(root: Path, what: str = "class") -> list[Path]:
    """The folders in `root`, in order of name; hidden ones are an operating system's, not a class."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder, expected a folder of {what} folders; correct the path in the config")
    found = sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not found:
        raise DataError(f"{root} holds no {what} folders; make one folder a {what} and put its images inside")
    return found


def pictures_in(folder: Path, suffixes: frozenset[str] = IMAGE_SUFFIXES) -> list[Picture]:
    """The pictures of one class, in order of name. Anything else is refused, because skipping it would lose data."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if not entries:
        raise DataError(f"the class folder {folder} is empty; add images, or remove it if this silo lacks the class")
    for entry in entries:
        if not entry.is_file() or entry.suffix.lower() not in suffixes:
            raise DataError(
                f"{entry} is not an image, expected files that end in {', '.join(sorted(suffixes))}; "
                "convert it, or move it out of the class folder"
            )
    return [Picture.of_file(entry) for entry in entries]


def decode(picture: Picture, *, side: int, colour: Colour) -> Tensor:
    """The picture as float32 (C, side, side) in [0, 1]."""
    try:
        with Image.open(BytesIO(picture.content())) as opened:
            pixels = _pixels(ImageOps.exif_transpose(opened), colour)  # (H, W, C)
    except UnidentifiedImageError as error:  # Pillow's own words would name a place in memory
        raise DataError(f"{picture.name} cannot be read as an image (no known format); repair or remove it") from error
    except _DAMAGED as error:
        raise DataError(f"{picture.name} cannot be read as an image ({error}); repair or remove it") from error
    return resize(unit_range(pixels, picture.name).permute(2, 0, 1).unsqueeze(0), side)[0]


def _pixels(picture: Image.Image, colour: Colour) -> NDArray[np.generic]:
    """The picture as (H, W, C). Sixteen-bit greys, usual in radiology, keep their depth: Pillow would clip them."""
    if picture.mode.startswith("I;16"):
        deep = np.asarray(picture).astype(np.uint16)[:, :, np.newaxis]
        return deep if colour == "grey" else np.repeat(deep, 3, axis=2)
    if picture.mode in ("I", "F"):
        raise ValueError(f"pixels of mode {picture.mode} have no stated range; store 8 or 16 bits a channel")
    if colour == "grey":
        return np.asarray(picture.convert("L"))[:, :, np.newaxis]
    return np.asarray(picture.convert("RGB"))
