"""From a config's data source to a training and a held-out set."""

from pathlib import Path
from typing import assert_never

from torch.nn import functional

from federation.config.data import AtSilos, ClassFolders, DataSource, Digits, EmbeddedMnist, IdxFiles, NpzFile
from federation.errors import DataError
from silo.data.class_folders import read_class_folders
from silo.data.embedded import digits, embedded_mnist
from silo.data.idx import missing_from, read_idx_folder
from silo.data.labelled_images import LabelledImages
from silo.data.npz import read_npz
from silo.data.paths import expand
from silo.data.pixels import resize
from silo.data.stratify import stratified_split

Parts = tuple[LabelledImages, LabelledImages]

# Public and fixed: which examples are held out must not change between two runs that are compared, nor between the
# two phases of one job, or evaluation would see examples that were trained on.
SPLIT_SEED = 20_240_229


def load(source: DataSource) -> Parts:
    """The training set and the held-out set that `source` describes, resized and limited as it says."""
    try:
        return _load(source)
    except DataError as error:
        if (path := place(source)) is None or path.name in str(error):
            raise
        raise DataError(f"{path}: {error}") from error


def _load(source: DataSource) -> Parts:
    train, held_out = (_finished(part, source) for part in _read(source))
    if train.image_shape != held_out.image_shape:
        raise DataError(
            f"training images are {train.image_shape} but held-out images {held_out.image_shape}, expected one shape; "
            "set side in the config, or store both splits alike"
        )
    return train, held_out


def place(source: DataSource) -> Path | None:
    """Where on this machine the files lie, links followed; None for data that come with a package."""
    match source:
        case IdxFiles(folder=path) | ClassFolders(path=path) | NpzFile(path=path):
            return expand(path).resolve()
        case _:
            return None


def _read(source: DataSource) -> Parts:
    match source:
        case EmbeddedMnist():
            return _split(embedded_mnist(), source.held_out)
        case Digits():
            return _split(digits(), source.held_out)
        case IdxFiles():
            return _read_idx(source)
        case ClassFolders():
            pictures = read_class_folders(
                expand(source.path), side=source.side, colour=source.colour, class_names=source.class_names
            )
            return _split(pictures, source.held_out)
        case NpzFile():
            train, test = read_npz(expand(source.path), source.classes)
            return (train, test) if test is not None else _split(train, source.held_out)
        case AtSilos():
            raise DataError(
                "data.kind is at_silos: a deployment's job says so, and every silo's own silo.yaml says what to read; "
                "start it with `siloseal aggregator`, or name a data set to simulate it"
            )
        case _:
            assert_never(source)


def _read_idx(source: IdxFiles) -> Parts:
    folder = expand(source.folder)
    if source.download and missing_from(folder):
        from silo.data.torchvision_mnist import download_idx  # here, because importing torchvision takes seconds

        download_idx(source.name, folder)
    return read_idx_folder(folder)


def _split(whole: LabelledImages, fraction: float) -> Parts:
    count = round(fraction * len(whole))
    if not 0 < count < len(whole):
        raise DataError(
            f"holding out {fraction:g} of {len(whole)} images leaves one part empty; "
            "add images, or change held_out in the config"
        )
    held_out, train = stratified_split(whole.labels, count=count, seed=SPLIT_SEED)
    return whole.select(train), whole.select(held_out)


def _finished(part: LabelledImages, source: DataSource) -> LabelledImages:
    if len(part) == 0:
        raise DataError("a split holds no images, expected at least one in each; add images to the source")
    if source.limit is not None and source.limit < len(part):
        kept, _ = stratified_split(part.labels, count=source.limit, seed=SPLIT_SEED)
        part = part.select(kept)
    if source.side is None:
        return part
    inner = source.side - 2 * source.margin
    if inner < 1:
        raise DataError(f"a margin of {source.margin} leaves nothing of a side of {source.side}; lower it")
    images = functional.pad(resize(part.images, inner), [source.margin] * 4)
    return LabelledImages(images, part.labels, part.classes)
