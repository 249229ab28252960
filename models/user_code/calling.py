"""Calls of a user's own function or class, whose errors name the file, the line and what was expected."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

from siloseal.federation.errors import ConfigError
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.models.user_code.loading import run_own


def call_own(code: UserCode, function: Callable[..., object], arguments: Mapping[str, object]) -> object:
    """What the function makes of the arguments, which it gets in their order.

    A `ConfigError` says what is wrong: with the function's parameters, or with the line at which it failed.
    """
    require_parameters(function, tuple(arguments), name=code.target)
    return run_own(code, lambda: function(*arguments.values()))


def require_parameters(function: Callable[..., object], expected: tuple[str, ...], *, name: str) -> None:
    """`ConfigError` unless the function, or the class, can be called with just these parameters by position."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):  # one that is written in C tells nothing
        return
    try:
        found.bind(*expected)
    except TypeError:
        short = name.rpartition(":")[2]
        raise ConfigError(
            f"{name}{at(function)} is {short}{found}, expected {short}({', '.join(expected)}); change its parameters"
        ) from None


def at(function: object) -> str:
    """The file and the line at which a function or a class begins, for an error; empty where nobody can tell."""
    try:
        place = inspect.unwrap(function) if callable(function) else type(function)
        path, (_, line) = inspect.getsourcefile(place), inspect.getsourcelines(place)
    except (TypeError, OSError, ValueError):
        return ""
    return "" if path is None else f" ({Path(path)}:{max(line, 1)})"
