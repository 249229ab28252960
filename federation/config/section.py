"""What all sections of a config have in common."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, model_validator

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A part of a config: unknown keys are refused, values never change, infinities and NaN are not numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _reject_booleans_and_nul_bytes(cls, values: Any) -> Any:
        """Refuse NUL bytes, and booleans where a number or a word belongs: Python counts true as 1."""
        for name, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str) and "\0" in value:
                raise ValueError(f"{name} holds a NUL character; write it anew")
            if isinstance(value, bool) and name in cls.model_fields and cls.model_fields[name].annotation is not bool:
                expected = _expected(cls.model_fields[name].annotation)
                raise ValueError(f"{name} is true or false, expected {expected}")
        return values

    @property
    def digest(self) -> bytes:
        """SHA-256 of the section with every default filled in: two sections are the same when this is."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).digest()


def _expected(annotation: object) -> str:
    """What a field takes in place of a boolean, in words."""
    leaves = {leaf for leaf in get_args(annotation) or (annotation,) if leaf is not type(None)}
    return "a number" if leaves <= {int, float} else "a number or a word"


def placed(config: S, folder: Path) -> S:
    """The config with its paths taken from where its file lies, as whoever wrote the file meant them.

    Those that begin with a variable or a home folder say themselves where they lie.
    """
    changes = dict[str, Any]()
    for name in type(config).model_fields:
        match getattr(config, name):
            case Path() as path if not str(path).startswith(("$", "~")):
                changes[name] = folder / path
            case Section() as section:
                changes[name] = placed(section, folder)
    return config.model_copy(update=changes)
