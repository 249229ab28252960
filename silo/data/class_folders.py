"""A folder of class folders, the shape in which people keep pictures."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from siloseal.federation.errors import DataError
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.pictures import IMAGE_SUFFIXES, Colour, Picture, decode, pictures_in, subfolders


def read_class_folders(root: Path, *, side: int, colour: Colour, class_names: tuple[str, ...] | None) -> Examples:
    """Every picture under `root`, labelled by its folder's place in `class_names`."""
    return labelled_pictures(root, class_names, IMAGE_SUFFIXES, partial(decode, side=side, colour=colour))


def labelled_pictures(
    root: Path, class_names: tuple[str, ...] | None, suffixes: frozenset[str], decoded: Callable[[Picture], Tensor]
) -> Examples:
    """Every file under `root` as `decoded` reads it, labelled by its folder's place in `class_names`."""
    folders = subfolders(root)
    names = class_names or tuple(folder.name for folder in folders)
    strangers = sorted({folder.name for folder in folders} - set(names))
    if strangers:
        raise DataError(
            f"{root} holds the folders {strangers}, but class_names lists {list(names)}; rename or add them"
        )
    pictures = [(picture, names.index(folder.name)) for folder in folders for picture in pictures_in(folder, suffixes)]
    images = torch.stack([decoded(picture) for picture, _ in pictures])
    return Examples(images, torch.tensor([label for _, label in pictures]), len(names))
