"""Images from a model file, into a picture or into arrays."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from siloseal.federation.config.quoting import quoted
from siloseal.federation.errors import ConfigError
from siloseal.federation.whole_numbers import is_whole
from siloseal.models.gan.generators import Generator
from siloseal.models.gan.sampling import generate
from siloseal.models.model_files import read_generator
from siloseal.run_folder.images import Images, Labels, class_rows, quantise, square_grid, write_npz, write_png

LARGEST_GRID = 10_000
LARGEST_COUNT = 1_000_000
LARGEST_SEED = 2**63 - 1
SCALE = 2


class Samples(NamedTuple):
    """Images that a model drew, and the class of each.

    >>> drawn = siloseal.sample("runs/first", count=20)
    >>> drawn.images.dtype, drawn.labels[:3].tolist()
    (dtype('uint8'), [0, 1, 2])
    """

    images: Images  # uint8 (count, C, H, W), with one channel (grey) or three (RGB)
    """Pixels from 0 to 255, an array of (images, channels, height, width)."""
    labels: Labels  # int64 (count,)
    """Class that each image was drawn for."""


def sample(model: nn.Module | Path, *, label: int | None, count: int, seed: int) -> Samples:
    """Draw `count` images of one class, or of all classes in turn. Equal seeds give equal images."""
    model = read_generator(model) if isinstance(model, Path) else model
    if not isinstance(model, Generator):
        raise ConfigError(f"a {type(model).__name__} draws nothing, expected a generator; a few-shot model adapts")
    if not is_whole(count) or not 1 <= count <= LARGEST_COUNT:
        raise ConfigError(
            f"count is {quoted(count)}, expected a whole number from 1 to {LARGEST_COUNT:,}; draw more in several calls"
        )
    if not is_whole(seed) or not 0 <= seed <= LARGEST_SEED:
        raise ConfigError(f"seed is {quoted(seed)}, expected a whole number from 0 to 2^63 - 1; choose another one")
    if label is not None and (not is_whole(label) or not 0 <= label < model.classes):
        raise ConfigError(
            f"label is {quoted(label)}, expected a whole number from 0 to {model.classes - 1}; choose such a class"
        )
    count, seed = int(count), int(seed)  # a numpy integer is no integer to torch
    labels = torch.arange(count) % model.classes if label is None else torch.full((count,), int(label))
    return Samples(quantise(generate(model, labels, seed=seed).images), labels.numpy())


def require_picture(out: Path, count: int) -> None:
    """Refuse a path that is neither a .png grid nor an .npz of arrays, and a grid of too many images."""
    if out.suffix not in (".png", ".npz"):
        raise ConfigError(f"{out} ends in {out.suffix or 'nothing'}; expected .png for a grid or .npz for arrays")
    if out.suffix == ".png" and count > LARGEST_GRID:
        raise ConfigError(f"{count} images do not fit a picture of at most {LARGEST_GRID}; draw fewer, or a .npz")


def write_samples(out: Path, samples: Samples, *, one_class: bool) -> None:
    """Write images as an .npz of arrays or a .png grid, which has a row a class unless all are of one class."""
    images, labels = samples
    try:
        if out.suffix == ".npz":
            write_npz(out, images, labels)
        elif one_class:
            write_png(out, square_grid(images, side=len(images)), scale=SCALE)
        else:
            write_png(out, class_rows(images, labels, columns=len(images)), scale=SCALE)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error}); choose another path") from error
