"""Arguments of the public functions, refused in words where they are something else than what is expected."""

import os
import textwrap
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.job import Job

AnyPath = os.PathLike[str] | str

_PATHS = {"directory": ".directory", "run_dir": ".run_dir"}
"""Attributes of our own values that hold a path, which a caller may have meant."""


def as_path(given: object, expected: str) -> Path:
    """The path that a caller gave; `ConfigError` for anything else, with what was expected."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        hints = [f"; give its {word}" for name, word in _PATHS.items() if hasattr(given, name)]
        raise ConfigError(f"found {shown(given)}, expected {expected}{''.join(hints)}")
    return Path(text)


def require_job(given: object) -> None:
    """`ConfigError` for anything but a job, with how to get one."""
    if not isinstance(given, Job):
        raise ConfigError(f"found {shown(given)}, expected a Job; read one from its file with siloseal.load_job")


def shown(given: object) -> str:
    """A value in an error message: small values as they are, of all others the type alone."""
    if given is None or isinstance(given, bool | int | float | str | bytes | os.PathLike):
        return textwrap.shorten(repr(given), 80)
    return f"a {type(given).__name__}"
