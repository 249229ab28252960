"""Paths in config files, which name folders that differ from silo to silo by environment variables."""

import os
import re
from pathlib import Path

from siloseal.federation.errors import DataError

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


def expand(path: Path) -> Path:
    """`path` with its environment variables and `~` filled in.

    An unset variable is refused rather than left in place (as `os.path.expandvars` does) or taken as empty, either of
    which would end in a puzzling "no such file" about a path that nobody wrote.
    """
    try:
        expanded = Path(_VARIABLE.sub(lambda found: _value(found[1] or found[2], path), str(path))).expanduser()
    except RuntimeError as error:
        raise DataError(f"the path {path} names the home of a user whom this machine does not know") from error
    if "\0" in str(expanded):
        raise DataError(f"the path {str(expanded)!r} holds a character that no file's name has; write it anew")
    return expanded


def _value(variable: str, path: Path) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise DataError(
            f"the path {path} uses the environment variable {variable}, which is not set; "
            f"set {variable} to a folder, or write the path out in the config"
        )
    return value
