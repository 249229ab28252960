"""From a config's data source to a training and a held-out set."""

from pathlib import Path
from typing import assert_never

from torch.nn import functional

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import (
    AtSilos,
    ClassFolders,
    DataSource,
    Digits,
    EmbeddedMnist,
    IdxFiles,
    MiniImagenet,
    NpzFile,
    Omniglot,
    Strokes,
)
from siloseal.silo.data.class_folders import read_class_folders
from siloseal.silo.data.embedded import digits, embedded_mnist
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.idx import missing_from, read_idx_folder
from siloseal.silo.data.mini_imagenet import read_mini_imagenet
from siloseal.silo.data.named_images import numbered
from siloseal.silo.data.npz import read_npz
from siloseal.silo.data.omniglot import read_omniglot
from siloseal.silo.data.paths import expand
from siloseal.silo.data.pixels import resize
from siloseal.silo.data.stratify import class_split, stratified_split
from siloseal.silo.data.strokes import draw_strokes

Parts = tuple[Examples, Examples]

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
    if train.shape != held_out.shape:
        raise DataError(
            f"training images are {train.shape} but held-out images {held_out.shape}, expected one shape; "
            "set side in the config, or store both splits alike"
        )
    return train, held_out


def place(source: DataSource) -> Path | None:
    """The place of the files on this machine, links followed; None for data that come with a package."""
    match source:
        case IdxFiles(folder=path) | MiniImagenet(folder=path) | Omniglot(folder=path):
            return expand(path).resolve()
        case ClassFolders(path=path) | NpzFile(path=path):
            return expand(path).resolve()
        case EmbeddedMnist() | Digits() | Strokes() | AtSilos():
            return None
        case _:
            assert_never(source)


def _read(source: DataSource) -> Parts:
    match source:
        case EmbeddedMnist():
            return _split(embedded_mnist(), source)
        case Digits():
            return _split(digits(), source)
        case IdxFiles():
            return _read_idx(source)
        case ClassFolders():
            pictures = read_class_folders(
                expand(source.path), side=source.side, colour=source.colour, class_names=source.class_names
            )
            return _split(pictures, source)
        case NpzFile():
            return _read_npz(source)
        case MiniImagenet() | Omniglot() | Strokes():
            return _read_few_shot(source)
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
        from siloseal.silo.data.torchvision_mnist import (
            download_idx,  # here, because importing torchvision takes seconds
        )

        download_idx(source.name, folder)
    return read_idx_folder(folder)


def _read_npz(source: NpzFile) -> Parts:
    train, test = read_npz(expand(source.path), source.classes)
    if test is None:
        return _split(train, source)
    if source.hold_out == "classes":
        raise DataError(
            f"{source.path} has a test split of its own, so no classes can be held out; leave out hold_out in the "
            "config, or store all images as images and labels"
        )
    return train, test


def _read_few_shot(source: MiniImagenet | Omniglot | Strokes) -> Parts:
    """The images, read at their last size at once: what is kept in eight bits must not be resized twice."""
    side = _inner_side(source.side, source.margin)
    match source:
        case Strokes():
            drawn = draw_strokes(
                characters=source.characters,
                held_out_characters=source.held_out_characters,
                drawings=source.drawings,
                side=side,
            )
            return numbered(*drawn)
        case Omniglot():
            return numbered(*read_omniglot(expand(source.folder), source, side=side, cache=_expanded(source.cache)))
        case MiniImagenet():
            splits = ("train", source.held_out)
            train, held_out = read_mini_imagenet(
                expand(source.folder), splits=splits, side=side, cache=_expanded(source.cache)
            )
            return numbered(train, held_out)
        case _:
            assert_never(source)


def _expanded(path: Path | None) -> Path | None:
    return None if path is None else expand(path)


def _split(whole: Examples, source: EmbeddedMnist | Digits | ClassFolders | NpzFile) -> Parts:
    if source.hold_out == "classes":
        return _split_classes(whole, source.held_out)
    count = round(source.held_out * len(whole))
    if not 0 < count < len(whole):
        raise DataError(
            f"holding out {source.held_out:g} of {len(whole)} images leaves one part empty; "
            "add images, or change held_out in the config"
        )
    held_out, train = stratified_split(whole.labels, count=count, seed=SPLIT_SEED)
    return whole.select(train), whole.select(held_out)


def _split_classes(whole: Examples, fraction: float) -> Parts:
    held_out, train = class_split(whole.labels, classes=whole.classes, fraction=fraction, seed=SPLIT_SEED)
    if len(held_out) == 0 or len(train) == 0:
        raise DataError(
            f"holding out {fraction:g} of {whole.classes} classes, of which {len(whole.label_set())} have images, "
            "leaves one part empty; add classes, or change held_out in the config"
        )
    return whole.select(train), whole.select(held_out)


def _finished(part: Examples, source: DataSource) -> Examples:
    if len(part) == 0:
        raise DataError("a split holds no images, expected at least one in each; add images to the source")
    if source.limit is not None and source.limit < len(part):
        kept, _ = stratified_split(part.labels, count=source.limit, seed=SPLIT_SEED)
        part = part.select(kept)
    if source.side is None:
        return part
    inner = _inner_side(source.side, source.margin)
    images = functional.pad(resize(part.inputs, inner), [source.margin] * 4)
    return Examples(images, part.labels, part.classes)


def _inner_side(side: int, margin: int) -> int:
    """The side that a margin leaves."""
    if side - 2 * margin < 1:
        raise DataError(f"a margin of {margin} leaves nothing of a side of {side}; lower it")
    return side - 2 * margin
