"""Paths that config files and archives give."""

from pathlib import Path

from siloseal.federation.config.paths import expand
from siloseal.federation.errors import DataError
from siloseal.models.user_code.places import folders

__all__ = ["expand", "likely_place", "located", "stays_inside"]

RULE = "a relative path counts from the folder of the job's file, or from the current folder"


def located(path: Path) -> Path:
    """The file or folder of data that a job names, as a full path.

    A relative one is looked for where the user's own code and weights are: beside the job's file, and in the current
    folder. Paths in a silo.yaml count from where that file lies, and are full paths here.
    """
    tried = _tried(path)
    found = tried if expand(path).is_absolute() else [place for place in tried if place.exists()]
    if len(found) > 1:
        where = " and ".join(map(str, found))
        raise DataError(f"the data {path} are in two places, {where}; remove one, or write the full path in the job")
    if not found:
        where = " or ".join(map(str, tried))
        raise DataError(f"found no {where}; put the data there, or correct {path} in the job: {RULE}")
    return found[0]


def likely_place(path: Path) -> Path:
    """The same path, where nobody minds if nothing, or too much, is there."""
    tried = _tried(path)
    return next((place for place in tried if place.exists()), tried[-1])


def stays_inside(name: str) -> bool:
    """Whether a name that a file gives, for an archive's entry say, leads nowhere but below the folder it is for."""
    parts = name.split("/")
    return not name.startswith(("/", "~")) and "\\" not in name and "\0" not in name and ".." not in parts


def _tried(path: Path) -> list[Path]:
    """The places that a path may mean; the current folder is the last."""
    wanted, here = expand(path), Path.cwd()
    if wanted.is_absolute():
        return [wanted]
    return [folder / wanted for folder in dict.fromkeys([*(each for each in folders() if each != here), here])]
