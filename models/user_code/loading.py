"""From a target to the function or class of the user's own, with its digest compared first."""

import traceback
from collections.abc import Callable
from typing import TypeVar

from siloseal.federation.errors import CodeMismatch, ConfigError, SiloSealError
from siloseal.federation.job.sections.learner_kind import UserCode
from siloseal.models.user_code.importing import import_module
from siloseal.models.user_code.source import Source, source_of

Made = TypeVar("Made")


def load_code(code: UserCode) -> Callable[..., object]:
    """The function or class that a job names. Another source than the one it pins is refused before it is imported."""
    from siloseal.models.process_randomness import kept_randomness  # here: it imports torch, which digests do without

    source = require_source(code)
    module, _, name = code.target.partition(":")
    with kept_randomness():  # a module that seeds torch would seed what others draw
        imported = run_own(code, lambda: import_module(module, source))
    if not hasattr(imported, name):
        others = ", ".join(sorted(key for key, value in vars(imported).items() if callable(value) and key[0] != "_"))
        raise ConfigError(f"{code.target}: {source.path_of(module)} has no {name}; it has {others or 'nothing'}")
    found = getattr(imported, name)
    if not callable(found):
        raise ConfigError(
            f"{code.target} in {source.path_of(module)} is a {type(found).__name__}, which cannot be called; name a "
            "function or a class"
        )
    return found  # type: ignore[no-any-return]  # whatever it returns, its caller checks


def require_source(code: UserCode) -> Source:
    """The source of the code; `CodeMismatch` where it is another than the one that the job pins."""
    source = source_of(code.target)
    if code.source is not None and source.digest != code.source:
        path, count = source.path_of(code.target.partition(":")[0]), len(source.files)
        over = f", over the {count} .py files of {source.top}" if source.is_package else ""
        raise CodeMismatch(
            f"{path} has the digest {source.digest}{over}, but the job names {code.target} with {code.source}; install "
            "the version that the job was written for, or, if this one is right, change the job and the policies"
        )
    return source


def found_code(code: UserCode) -> UserCode:
    """The code with the digest of what lies on this machine."""
    return UserCode(code.kind, code.target, require_source(code).digest)


def run_own(code: UserCode, call: Callable[[], Made]) -> Made:
    """Run something of the user's own; whatever it raises is a `ConfigError` that names the line."""
    try:
        return call()
    except SiloSealError:
        raise
    except (Exception, SystemExit) as error:
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        where = _line_of(source_of(code.target), error)
        raise ConfigError(f"{code.target} failed at {where} ({words}); correct the code there") from error


def _line_of(source: Source, error: BaseException) -> str:
    """The last line of the user's own that was running."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    paths = {str(source.folder / name) for name in source.files}
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in paths]
    return f"{lines[-1].filename}:{lines[-1].lineno}" if lines else str(source.folder)
