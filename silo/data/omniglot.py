"""Omniglot (Lake et al. 2015): handwritten characters of many alphabets, 20 drawings each, 105x105.

The files are black ink on white paper. Here ink is 1 and paper 0, as in MNIST, so that an added margin is paper.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siloseal.federation.errors import DataError
from siloseal.federation.job.sections.data import Omniglot
from siloseal.silo.data.cache import cached, of_pictures
from siloseal.silo.data.named_images import NamedImages, decode_all
from siloseal.silo.data.pictures import Picture, pictures_in, subfolders
from siloseal.silo.data.zip_pictures import open_zip, zip_pictures

_BACKGROUND, _EVALUATION = "images_background", "images_evaluation"

Drawing = tuple[str, str, str]
"""Alphabet, character, file name. Archives share some alphabets: what has the same three is the same drawing."""


@dataclass(frozen=True)
class _Collection:
    drawings: Mapping[Drawing, Picture]
    for_evaluation: frozenset[str]  # alphabets

    @property
    def alphabets(self) -> frozenset[str]:
        return frozenset(alphabet for alphabet, _, _ in self.drawings)


def read_omniglot(folder: Path, source: Omniglot, *, side: int, cache: Path | None) -> tuple[NamedImages, NamedImages]:
    """The characters to train on and those held out."""
    with ExitStack() as stack:
        collection = _collect(folder, stack)
        train, held_out = (
            _drawn(collection, alphabets, side, cache) for alphabets in _split(collection, source, folder)
        )
    return (_with_turned(train) if source.rotations else train), held_out


def _collect(folder: Path, stack: ExitStack) -> _Collection:
    homes = sorted(home for home in folder.glob("images_*") if home.is_dir() or home.suffix == ".zip")
    homes = [home for home in homes if home.name.startswith(_BACKGROUND) or home.name.startswith(_EVALUATION)]
    if not homes:
        raise DataError(
            f"{folder} does not hold Omniglot. Looked for {_BACKGROUND}, {_BACKGROUND}_small1, {_BACKGROUND}_small2 "
            f"and {_EVALUATION}, as folders or as .zip; correct folder in the config, or put them there"
        )
    drawings, for_evaluation = dict[Drawing, Picture](), set[str]()
    for home in homes:
        for drawing, picture in _in_folder(home) if home.is_dir() else _in_zip(home, stack):
            drawings.setdefault(drawing, picture)
            if home.name.startswith(_EVALUATION):
                for_evaluation.add(drawing[0])
    return _Collection(drawings, frozenset(for_evaluation))


def _in_folder(home: Path) -> Iterator[tuple[Drawing, Picture]]:
    for alphabet in subfolders(home, "alphabet"):
        for character in subfolders(alphabet, "character"):
            for picture in pictures_in(character):
                yield (alphabet.name, character.name, Path(picture.name).name), picture


def _in_zip(home: Path, stack: ExitStack) -> Iterator[tuple[Drawing, Picture]]:
    for parts, picture in zip_pictures(stack.enter_context(open_zip(home)), home):
        if len(parts) != 4:
            raise DataError(
                f"{picture.name} is not where a drawing is expected, {home.stem}/alphabet/character/drawing.png; "
                "use the official archive"
            )
        _, alphabet, character, file = parts
        yield (alphabet, character, file), picture


def _split(collection: _Collection, source: Omniglot, folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The alphabets to train on, and those held out."""
    known = collection.alphabets
    named = {*(source.test_alphabets or ()), *(source.train_alphabets or ())}
    if unknown := sorted(named - known):
        raise DataError(f"{folder} holds no alphabet {', '.join(unknown)}; it holds {', '.join(sorted(known))}")
    held_out = frozenset(source.test_alphabets or collection.for_evaluation)
    if not held_out:
        raise DataError(
            f"{folder} holds no {_EVALUATION}, so test_alphabets must say what to evaluate on; it holds "
            f"{', '.join(sorted(known))}"
        )
    train = frozenset(source.train_alphabets or known - held_out)
    if both := sorted(train & held_out):
        raise DataError(
            f"{', '.join(both)} of train_alphabets is in {_EVALUATION}, which is held out; name test_alphabets, or "
            "train on others"
        )
    if not train:
        raise DataError(f"{folder} leaves no alphabet to train on; add {_BACKGROUND}, or hold out fewer alphabets")
    return train, held_out


def _drawn(collection: _Collection, alphabets: frozenset[str], side: int, cache: Path | None) -> NamedImages:
    listed = [
        (f"{alphabet}/{character}", picture)
        for (alphabet, character, _), picture in sorted(collection.drawings.items(), key=lambda item: item[0])
        if alphabet in alphabets
    ]

    def make() -> NamedImages:
        black_on_white = decode_all(listed, side=side, colour="grey")
        return NamedImages(255 - black_on_white.pixels, black_on_white.labels, black_on_white.names)

    return cached(cache, ("omniglot", side, "grey", of_pictures(listed)), make)


def _with_turned(upright: NamedImages) -> NamedImages:
    """Three more classes of each class, by quarter turns: the usual way to four times the training classes."""
    turns = range(4)
    return NamedImages(
        np.concatenate([np.rot90(upright.pixels, turn, axes=(2, 3)) for turn in turns]),
        np.concatenate([upright.labels + turn * len(upright.names) for turn in turns]),
        tuple(f"{name}, turned {90 * turn}" if turn else name for turn in turns for name in upright.names),
    )
