"""Paths that config files and archives give."""

from siloseal.federation.config.paths import expand

__all__ = ["expand", "stays_inside"]


def stays_inside(name: str) -> bool:
    """Whether a name that a file gives, for an archive's entry say, leads nowhere but below the folder it is for."""
    parts = name.split("/")
    return not name.startswith(("/", "~")) and "\\" not in name and "\0" not in name and ".." not in parts
