"""Images from a model file, into a picture or into arrays."""

from pathlib import Path

import torch

from siloseal.federation.errors import ConfigError
from siloseal.models.building import read_generator
from siloseal.models.gan.sampling import generate
from siloseal.runs.images import class_rows, quantise, square_grid, write_npz, write_png

LARGEST_GRID = 10_000
SCALE = 2


def draw(model: Path, out: Path, *, label: int | None, count: int, seed: int) -> None:
    """Write `count` images of one class, or of all in turn, as a .png grid or an .npz of arrays."""
    if out.suffix not in (".png", ".npz"):
        raise ConfigError(f"{out} ends in {out.suffix or 'nothing'}; expected .png for a grid or .npz for arrays")
    if out.suffix == ".png" and count > LARGEST_GRID:
        raise ConfigError(f"{count} images do not fit a picture of at most {LARGEST_GRID}; draw fewer, or a .npz")
    generator = read_generator(model)
    if label is not None and not 0 <= label < generator.classes:
        raise ConfigError(
            f"class {label} is not among the model's classes 0 to {generator.classes - 1}; choose one of them"
        )
    labels = torch.arange(count) % generator.classes if label is None else torch.full((count,), label)
    images = quantise(generate(generator, labels, seed=seed).images)
    given = labels.numpy()
    try:
        if out.suffix == ".npz":
            write_npz(out, images, given)
        elif label is None:
            write_png(out, class_rows(images, given, columns=count), scale=SCALE)
        else:
            write_png(out, square_grid(images, side=count), scale=SCALE)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error}); choose another path") from error
