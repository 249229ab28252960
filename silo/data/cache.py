"""Decoded images kept on disk: decoding tens of thousands of pictures takes minutes, reading them back seconds.

What is kept is as private as the pictures: only its owner may read it. It is never trusted: a file that is damaged, or
is not the one that its name promises, is made anew from the pictures.
"""

import fcntl
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np

from siloseal.federation.errors import DataError
from siloseal.federation.records.storage import make_folder, write_atomically
from siloseal.silo.data.named_images import Listed, NamedImages

_FORMAT = 1  # goes up when the same files are to give other pixels, so that old caches are passed over
_DAMAGED = (
    OSError, EOFError, ValueError, TypeError, KeyError, MemoryError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error, DataError,
)  # fmt: skip

Ingredients = Sequence[object]
"""Everything that determines the images, as JSON: kind, side, colour, and each file's name, size and time of change."""


def of_pictures(listed: Sequence[Listed]) -> Ingredients:
    """Every picture's class, name and stamp."""
    return [(name, picture.name, *picture.stamp) for name, picture in listed]


def cached(folder: Path | None, ingredients: Ingredients, make: Callable[[], NamedImages]) -> NamedImages:
    """The images that `make` gives, from `folder` if made from the same before. Without a folder, nothing is kept."""
    if folder is None:
        return make()
    digest = hashlib.sha256(json.dumps([_FORMAT, *ingredients]).encode()).hexdigest()
    path = folder / f"{digest}.npz"
    try:
        make_folder(folder, mode=0o700)
        with _one_at_a_time(folder):
            if (kept := _read(path, digest)) is not None:
                return kept
            made = make()
            write_atomically(path, _content(made, digest), mode=0o600)
            return made
    except OSError as error:
        raise DataError(
            f"the cache {folder} cannot be used ({error.strerror}); free space there, correct its permissions, or "
            "leave out cache in the config"
        ) from error


def _content(images: NamedImages, digest: str) -> bytes:
    buffer = BytesIO()
    names = np.array(images.names, dtype=np.str_)
    np.savez(buffer, pixels=images.pixels, labels=images.labels, names=names, digest=np.array(digest))
    return buffer.getvalue()


def _read(path: Path, digest: str) -> NamedImages | None:
    """The images of a sound file of this digest, else None. The archive's checksums tell of damage."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if str(arrays["digest"]) != digest:
                return None
            names = tuple(str(name) for name in arrays["names"])
            return NamedImages(arrays["pixels"], arrays["labels"], names)
    except _DAMAGED:
        return None


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process work at a time. Whoever comes second finds the work done. A kill releases the lock."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
