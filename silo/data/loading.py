"""From a config's data source to a training and a held-out set."""

from pathlib import Path
from typing import assert_never

from siloseal.federation.errors import ConfigError, DataError
from siloseal.federation.job.sections.data import (
    AtSilos,
    ClassFolders,
    DataSource,
    DicomFolders,
    Digits,
    EmbeddedMnist,
    IdxFiles,
    MiniImagenet,
    NpzFile,
    Omniglot,
    Strokes,
)
from siloseal.federation.job.sections.source import WholeSource
from siloseal.federation.job.sections.tables import CsvRecords, EmbeddedTable
from siloseal.silo.data.class_folders import read_class_folders
from siloseal.silo.data.dicom import read_dicom_folders
from siloseal.silo.data.embedded import digits, embedded_mnist, tumours
from siloseal.silo.data.examples import Examples
from siloseal.silo.data.idx import missing_from, read_idx_folder
from siloseal.silo.data.mini_imagenet import read_mini_imagenet
from siloseal.silo.data.named_images import numbered
from siloseal.silo.data.npz import read_npz
from siloseal.silo.data.omniglot import read_omniglot
from siloseal.silo.data.paths import expand, likely_place, located
from siloseal.silo.data.records import encode
from siloseal.silo.data.splitting import Parts, finished, inner_side, split_classes, split_examples
from siloseal.silo.data.strokes import draw_strokes
from siloseal.silo.data.tables import Table, read_table


def load(source: DataSource) -> Parts:
    """The training set and the held-out set that `source` describes, resized and limited as it says."""
    try:
        return _load(source)
    except DataError as error:
        if (path := place(source)) is None or path.name in str(error):
            raise
        raise DataError(f"{path}: {error}") from error


def _load(source: DataSource) -> Parts:
    train, held_out = (finished(part, source) for part in _read(source))
    if train.shape != held_out.shape:
        raise DataError(
            f"training examples are {train.shape} but held-out examples {held_out.shape}, expected one shape; "
            "store both splits alike, or set side in the config if they are images"
        )
    return train, held_out


def place(source: DataSource) -> Path | None:
    """The place of the files on this machine, links followed; None for data that come with a package."""
    match source:
        case IdxFiles(folder=path) | MiniImagenet(folder=path) | Omniglot(folder=path):
            return likely_place(path).resolve()
        case ClassFolders(path=path) | DicomFolders(path=path) | NpzFile(path=path):
            return likely_place(path).resolve()
        case CsvRecords(file=path, folder=folder):
            return likely_place(path or folder or Path()).resolve()
        case EmbeddedMnist() | Digits() | EmbeddedTable() | Strokes() | AtSilos():
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
                located(source.path), side=source.side, colour=source.colour, class_names=source.class_names
            )
            return _split(pictures, source)
        case DicomFolders():
            return _split(read_dicom_folders(source), source)
        case NpzFile():
            return _read_npz(source)
        case CsvRecords():
            return split_examples(encode(_read_csv(source), source), source.held_out)
        case EmbeddedTable():
            return split_examples(encode(tumours(), source), source.held_out)
        case MiniImagenet() | Omniglot() | Strokes():
            return _read_few_shot(source)
        case AtSilos():
            raise ConfigError(
                "data.kind is at_silos: a deployment's job says so, and every silo's own silo.yaml says what to read; "
                "start it with `siloseal aggregator`, or name a data set to simulate it"
            )
        case _:
            assert_never(source)


def _read_idx(source: IdxFiles) -> Parts:
    folder = likely_place(source.folder) if source.download else located(source.folder)
    if source.download and missing_from(folder):
        from siloseal.silo.data.torchvision_mnist import (
            download_idx,  # here, because importing torchvision takes seconds
        )

        download_idx(source.name, folder)
    return read_idx_folder(folder)


def _read_npz(source: NpzFile) -> Parts:
    train, test = read_npz(located(source.path), source)
    if test is None:
        return _split(train, source)
    if source.hold_out == "classes":
        raise DataError(
            f"{source.path} has a test split of its own, so no classes can be held out; leave out hold_out in the "
            "config, or store all examples in one pair of arrays"
        )
    return train, test


def _read_csv(source: CsvRecords) -> Table:
    if source.file is None:
        raise DataError("data.folder has a table for each silo, and none for all of them; name one table as data.file")
    return read_table(located(source.file), source.delimiter)


def _read_few_shot(source: MiniImagenet | Omniglot | Strokes) -> Parts:
    """The images, read at their last size at once: what is kept in eight bits must not be resized twice."""
    side = inner_side(source.side, source.margin)
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
            return numbered(*read_omniglot(located(source.folder), source, side=side, cache=_expanded(source.cache)))
        case MiniImagenet():
            splits = ("train", source.held_out)
            train, held_out = read_mini_imagenet(
                located(source.folder), splits=splits, side=side, cache=_expanded(source.cache)
            )
            return numbered(train, held_out)
        case _:
            assert_never(source)


def _expanded(path: Path | None) -> Path | None:
    return None if path is None else expand(path)


def _split(whole: Examples, source: WholeSource) -> Parts:
    return (split_classes if source.hold_out == "classes" else split_examples)(whole, source.held_out)
