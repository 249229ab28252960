"""Where the user's own files are looked for, beside what Python imports anyway."""

from collections.abc import Callable, Iterable
from pathlib import Path

from siloseal.federation.config.paths import expand
from siloseal.federation.errors import ConfigError

_FOLDERS: list[Path] = []
"""Folders of this process. A relative one is taken from the current folder whenever something is looked for."""


def look_in(folder: Path) -> None:
    """Look for the user's own files in this folder, too: that of a job's file, the current one, a party's `code`."""
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)


def folders() -> list[Path]:
    """The folders that were given, each once."""
    return list(dict.fromkeys(folder.resolve() for folder in _FOLDERS))


def is_plain(path: Path) -> bool:
    """Whether a path leads into the folder that it is looked for in, whichever that is: no machine's own path.

    It is relative, and has no .., no ~ and no environment variable, which would be this machine's.
    """
    text = str(path)
    return not path.is_absolute() and ".." not in path.parts and text[0] != "~" and not any(c in text for c in "$\0")


def look_for(path: Path, within: Iterable[Path], *, there: Callable[[Path], bool]) -> tuple[list[Path], list[Path]]:
    """The full paths that a job's path may mean, one in each folder, and those at which something is `there`.

    A place that links lead to from several folders counts once.
    """
    wanted = expand(path)
    tried = [wanted] if wanted.is_absolute() else [folder / wanted for folder in within]
    found = dict[Path, Path]()
    for place in filter(there, tried):
        found.setdefault(place.resolve(), place)
    return tried, list(found.values())


def own_file(path: Path, *, field: str) -> Path:
    """A file that a job names: by its full path, or by a path from one of the folders; `field` is the job's field."""
    tried, found = look_for(path, folders(), there=Path.is_file)
    if not found:
        where = " nor ".join(map(str, tried)) or path
        raise ConfigError(f"learner.{field} is {path}, but there is no file {where}; copy the file there")
    if len(found) > 1:
        where = " and ".join(map(str, found))
        raise ConfigError(f"learner.{field} is {path}, but there are {where}; remove one of them")
    return found[0]
