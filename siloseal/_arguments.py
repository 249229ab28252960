"""Arguments of the public functions, refused in words where they are something else than what is expected."""

import os
from pathlib import Path

from siloseal.federation.config.quoting import quoted
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
    try:
        Path(text).exists()
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        raise ConfigError(f"{shown(text)} cannot be used ({error.strerror}), expected {expected}") from error
    return Path(text)


def require_job(given: object) -> None:
    """`ConfigError` for anything but a job, with how to get one."""
    if not isinstance(given, Job):
        raise ConfigError(f"found {shown(given)}, expected a Job; read one from its file with siloseal.load_job")


def shown(given: object) -> str:
    """A value in an error message: small values as they are, of all others the type alone."""
    if given is None or isinstance(given, bool | int | float | str | bytes | os.PathLike):
        return quoted(given)
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
