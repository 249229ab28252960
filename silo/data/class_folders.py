"""A folder of class folders, the shape in which people keep pictures."""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from federation.errors import DataError
from silo.data.labelled_images import LabelledImages
from silo.data.pixels import resize, unit_range

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm"})

# What Pillow raises over a damaged picture, beside OSError, depends on the format and on where the damage is.
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


def read_class_folders(
    root: Path, *, side: int, colour: Literal["grey", "rgb"], class_names: tuple[str, ...] | None
) -> LabelledImages:
    """Every picture under `root`, labelled by its folder's place in `class_names`."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder, expected a folder of class folders; correct the path in the config")
    found = sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not found:
        raise DataError(f"{root} holds no class folders; make one folder a class and put its images inside")
    names = class_names or tuple(found)
    strangers = sorted(set(found) - set(names))
    if strangers:
        raise DataError(
            f"{root} holds the folders {strangers}, but class_names lists {list(names)}; rename or add them"
        )
    pictures = [(path, names.index(name)) for name in found for path in _pictures(root / name)]
    images = torch.cat([_read(path, side, colour) for path, _ in pictures])
    return LabelledImages(images, torch.tensor([label for _, label in pictures]), len(names))


def _pictures(folder: Path) -> list[Path]:
    """The pictures of one class, in order of name. Anything else is refused, because skipping it would lose data."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if not entries:
        raise DataError(f"the class folder {folder} is empty; add images, or remove it if this silo lacks the class")
    for entry in entries:
        if not entry.is_file() or entry.suffix.lower() not in IMAGE_SUFFIXES:
            raise DataError(
                f"{entry} is not an image, expected files that end in {', '.join(sorted(IMAGE_SUFFIXES))}; "
                "convert it, or move it out of the class folder"
            )
    return entries


def _read(path: Path, side: int, colour: Literal["grey", "rgb"]) -> Tensor:
    try:
        with Image.open(path) as picture:
            pixels = _pixels(ImageOps.exif_transpose(picture), colour)  # (H, W, C)
    except _DAMAGED as error:
        raise DataError(f"{path} cannot be read as an image ({error}); repair or remove it") from error
    return resize(unit_range(pixels, str(path)).permute(2, 0, 1).unsqueeze(0), side)  # (1, C, side, side)


def _pixels(picture: Image.Image, colour: Literal["grey", "rgb"]) -> NDArray[np.generic]:
    """The picture as (H, W, C). Sixteen-bit greys, usual in radiology, keep their depth: Pillow would clip them."""
    if picture.mode.startswith("I;16"):
        deep = np.asarray(picture).astype(np.uint16)[:, :, np.newaxis]
        return deep if colour == "grey" else np.repeat(deep, 3, axis=2)
    if picture.mode in ("I", "F"):
        raise ValueError(f"pixels of mode {picture.mode} have no stated range; store 8 or 16 bits a channel")
    if colour == "grey":
        return np.asarray(picture.convert("L"))[:, :, np.newaxis]
    return np.asarray(picture.convert("RGB"))
