"""Paths that config files and archives give."""

from pathlib import Path

from siloseal.federation.config.paths import expand
from siloseal.federation.errors import DataError
from siloseal.models.user_code.places import folders, look_for

__all__ = ["expand", "likely_place", "located", "stays_inside"]

RULE = "a relative path counts from the folder of the job's file, or from the current folder"


def located(path: Path) -> Path:
    """The file or folder of data that a job names, as a full path.

    A relative one is looked for where the user's own code and weights are: beside the job's file, and in the current
    folder. Paths in a silo.yaml count from where that file lies, and are full paths here.
    """
    tried, found = _look_for(path)
    if expand(path).is_absolute():
        return tried[0]
    if len(found) > 1:
        where = " and ".join(map(str, found))
        raise DataError(f"the data {path} are in two places, {where}; remove one, or write the full path in the job")
    if not found:
        where = " or ".join(map(str, tried))
        raise DataError(f"found no {where}; put the data there, or correct {path} in the job: {RULE}")
    return found[0]


def likely_place(path: Path) -> Path:
    """The same path, where nobody minds if nothing, or too much, is there."""
    tried, found = _look_for(path)
    return next(iter(found), tried[-1])


def stays_inside(name: str) -> bool:
    """Whether a name that a file gives, for an archive's entry say, leads nowhere but below the folder it is for."""
    parts = name.split("/")
    return not name.startswith(("/", "~")) and "\\" not in name and "\0" not in name and ".." not in parts


def _look_for(path: Path) -> tuple[list[Path], list[Path]]:
    """The places that a path may mean, of which the current folder is the last, and those where something is."""
    here = Path.cwd()
    return look_for(path, [*(folder for folder in folders() if folder != here), here], there=Path.exists)
