"""Mini-ImageNet: 64 classes to train on, 16 to validate with and 20 to test on, 600 pictures each.

It is passed on in three forms, and a folder is taken for the first one that it holds whole.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from siloseal.federation.errors import DataError
from siloseal.silo.data.cache import cached, of_pictures
from siloseal.silo.data.mini_imagenet_pickle import read_split
from siloseal.silo.data.named_images import Listed, NamedImages, decode_all
from siloseal.silo.data.paths import stays_inside
from siloseal.silo.data.pictures import IMAGE_SUFFIXES, Picture, file_stamp, pictures_in, subfolders
from siloseal.silo.data.tables import read_table

TABLES = ("images", "{split}.csv")
FOLDERS = ("{split}",)
PICKLES = ("mini-imagenet-cache-{split}.pkl",)


def read_mini_imagenet(
    folder: Path, *, splits: Sequence[str], side: int, cache: Path | None
) -> tuple[NamedImages, ...]:
    """Each of these splits, its classes in alphabetical order."""
    form = _form(folder, splits)
    if form is PICKLES:
        return tuple(_unpickled(folder / form[0].format(split=split), side, cache) for split in splits)
    list_pictures: Callable[[Path, str], list[Listed]] = _in_table if form is TABLES else _in_folders
    listings = [list_pictures(folder, split) for split in splits]
    _require_once(folder, [picture for listed in listings for _, picture in listed])
    return tuple(_decoded(listed, side, cache) for listed in listings)


def _form(folder: Path, splits: Sequence[str]) -> tuple[str, ...]:
    lacking = dict[tuple[str, ...], list[str]]()
    for form in (TABLES, FOLDERS, PICKLES):
        needed = sorted({entry.format(split=split) for entry in form for split in splits})
        lacking[form] = [entry for entry in needed if not (folder / entry).exists()]
        if not lacking[form]:
            return form
    tables, folders, pickles = (", ".join(missing) for missing in lacking.values())
    raise DataError(
        f"{folder} does not hold Mini-ImageNet in a known form. Looked for: pictures with tables, where {tables} is "
        f"missing; class folders, where {folders} is missing; pickles, where {pickles} is missing. Correct folder in "
        "the config, or add what is missing to one of the three"
    )


def _in_table(folder: Path, split: str) -> list[Listed]:
    """The pictures in Ravi and Larochelle's form: one folder, and a table of file names and classes for each split."""
    table = read_table(folder / f"{split}.csv")
    table.require(["filename", "label"])
    listed, missing = list[Listed](), list[str]()
    for line, filename, label in zip(table.lines, table.texts("filename"), table.texts("label"), strict=True):
        if not label or not stays_inside(filename) or Path(filename).suffix.lower() not in IMAGE_SUFFIXES:
            raise DataError(
                f"{table.source}, line {line}: expected the name of a picture inside images/ and its class; correct it"
            )
        path = folder / "images" / filename
        try:
            listed.append((label, Picture.of_file(path)))
        except OSError:  # not there, or no name that a file could have
            missing.append(filename)
    if missing:
        raise DataError(
            f"{folder / 'images'} lacks {len(missing)} of the {len(table)} pictures in {split}.csv, the first being "
            f"{missing[0][:200]}; add them, or remove their lines from the table"
        )
    return listed


def _in_folders(folder: Path, split: str) -> list[Listed]:
    return [(home.name, picture) for home in subfolders(folder / split) for picture in pictures_in(home)]


def _require_once(folder: Path, pictures: Sequence[Picture]) -> None:
    counts = Counter(picture.name for picture in pictures)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise DataError(
            f"{folder} lists {len(twice)} pictures twice, the first being {twice[0]}, expected each in one split and "
            "one class; remove the copies from the tables"
        )


def _decoded(listed: Sequence[Listed], side: int, cache: Path | None) -> NamedImages:
    ingredients = ("mini_imagenet", side, "rgb", of_pictures(listed))
    return cached(cache, ingredients, lambda: decode_all(listed, side=side, colour="rgb"))


def _unpickled(path: Path, side: int, cache: Path | None) -> NamedImages:
    ingredients = ("mini_imagenet_pickle", side, "rgb", str(path), *file_stamp(path))
    return cached(cache, ingredients, lambda: read_split(path, side=side))
