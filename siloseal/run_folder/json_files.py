"""JSON of a run folder that may be damaged: read with a `RunError` that names file and line."""

import json
from pathlib import Path

from pydantic import JsonValue, ValidationError

from siloseal.federation.errors import RunError


def read_text(path: Path) -> str:
    """A file as text; `RunError` where that fails."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read ({error}); restore the file, or run the job again") from None


def parse(text: str, path: Path, *, line_number: int | None = None) -> JsonValue:
    """Parse JSON; `RunError` with the line where it is damaged."""
    try:
        found: JsonValue = json.loads(text)
    except json.JSONDecodeError as error:
        line = line_number or error.lineno
        raise RunError(f"{path}, line {line}: damaged JSON ({error.msg}); restore the file, or run it again") from None
    return found


def first_problem(error: ValidationError) -> str:
    """The first complaint of a validation, with the field's name."""
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]
