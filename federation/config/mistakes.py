"""The mistakes in a config, each as a line for whoever writes YAML: file, line, field, found, expected."""

import difflib
import re
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from siloseal.federation.config.fields import Host, Name
from siloseal.federation.config.quoting import quoted

Location = tuple[int | str, ...]

_EXPECTED = {  # what the checker's own words do not tell whoever writes YAML
    "tuple_type": "expected a list, in [brackets] or one item a line after dashes",
    "model_type": "expected `key: value` lines or {braces}",
    "model_attributes_type": "expected `key: value` lines or {braces}",
}
_PATTERNS = {  # the same for texts that must look a certain way
    TypeAdapter(Name).json_schema()["pattern"]: (
        "at most 64 of a-z, A-Z, 0-9, _ and -, beginning with a letter or digit"
    ),
    TypeAdapter(Host).json_schema()["pattern"]: "a host's name or an IP address, and nothing else",
}


class Mistake(NamedTuple):
    """One mistake in a config."""

    line: int
    """Line of the file that it stands in, counted from 1."""
    words: str
    """Field, what was found there, and what would be right."""


def find_mistakes(kind: type[BaseModel], root: yaml.Node, error: ValidationError) -> list[Mistake]:
    """The mistakes that a check found in the file with this root, in the file's own words."""
    found = error.errors()
    # A list whose entries are all refused also counts as too short, which would only confuse.
    own = [one for one in found if one["type"] != "too_short" or not any(_within(other, one) for other in found)]
    # A misspelt key is unknown, and the right one missing: that is one mistake.
    misspelt = [(*one["loc"][:-1], _meant(kind, one)) for one in own if one["type"] == "extra_forbidden"]
    return [_explain(kind, root, one) for one in own if one["type"] != "missing" or one["loc"] not in misspelt]


def _within(one: ErrorDetails, other: ErrorDetails) -> bool:
    """Whether one mistake lies inside the other's place."""
    return len(one["loc"]) > len(other["loc"]) and one["loc"][: len(other["loc"])] == other["loc"]


def _explain(kind: type[BaseModel], root: yaml.Node, details: ErrorDetails) -> Mistake:
    keys, line = _place(root, details["loc"])
    field = ".".join(str(key) for key in keys) or "the file"
    if details["type"] == "value_error":
        words = details["msg"].removeprefix("Value error, ")
        # A check over several fields has no place of its own; its message begins with the field that it is about.
        about = words.split(" ")[0].split(".")
        if not keys and _entry_at(root, about):
            return Mistake(_place(root, tuple(about))[1], words)
        return Mistake(line, f"{field}: {words}")
    return Mistake(line, _describe(kind, field, details))


def _describe(kind: type[BaseModel], field: str, details: ErrorDetails) -> str:
    """What is wrong with the value of a field, as far as its type says."""
    if details["type"] == "missing":
        wanted = _description(kind, details["loc"])
        return f"{field} is missing; add it{f' ({wanted})' if wanted else ''}"
    if details["type"] == "extra_forbidden":
        known = ", ".join(sorted(_fields(kind, details["loc"][:-1])))
        hint = f"did you mean {meant}?" if (meant := _meant(kind, details)) else f"known here: {known}"
        return f"{field} is not a known key; {hint}"
    if details["type"].startswith("union_tag"):
        tags = [tag for model in _models_at(kind, details["loc"]) for tag in _kinds(model)]
        found = details.get("ctx", {}).get("tag", "no `kind`")
        close = [f"; did you mean {tag}?" for tag in difflib.get_close_matches(found, tags, n=1)]
        expected = ", ".join(map(repr, tags)) + "".join(close)
        return f"{field}: found {found}, expected `kind:` to be one of {expected}"
    wanted = _description(kind, details["loc"])
    expected = _expected(details)
    return f"{field}: found {quoted(details['input'], 120)}; {expected}{f' ({wanted})' if wanted else ''}"


def _meant(kind: type[BaseModel], details: ErrorDetails) -> str | None:
    """The known key that is most like an unknown one; None where none is."""
    known = sorted(_fields(kind, details["loc"][:-1]))
    return next(iter(difflib.get_close_matches(str(details["loc"][-1]), known, n=1)), None)


def _expected(details: ErrorDetails) -> str:
    if details["type"] == "string_pattern_mismatch":
        pattern = details["ctx"]["pattern"]
        if digits := re.fullmatch(r"\^\[0-9a-f\]\{(\d+)\}\$", pattern):
            return f"expected {digits[1]} hexadecimal digits, 0-9 and a-f"
        return f"expected {_PATTERNS.get(pattern, f'a text that matches {pattern}')}"
    words = _EXPECTED.get(details["type"]) or details["msg"][0].lower() + details["msg"][1:]
    return re.sub(r"\b0\.0{6,}\d+\b", lambda tiny: f"{float(tiny[0]):g}", words)  # nobody counts a hundred zeros


def _place(root: yaml.Node, location: Location) -> tuple[list[int | str], int]:
    """The keys of a pydantic location that stand in the file, and the line of the deepest one.

    A location also holds the tags of unions, which are no keys: what the file does not have is passed over, save for
    the last part, which may be the key that is missing.
    """
    node, line, keys = root, root.start_mark.line + 1, list[int | str]()
    for index, part in enumerate(location):
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif isinstance(node, yaml.MappingNode) and (entry := _entry(node, part)):
            line, node = entry[0].start_mark.line + 1, entry[1]
            keys.append(part)
            continue
        elif index < len(location) - 1:
            continue
        keys.append(part)
    return keys, line


def _entry(node: yaml.MappingNode, key: int | str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(((name, value) for name, value in node.value if name.value == str(key)), None)


def _entry_at(root: yaml.Node, keys: list[str]) -> bool:
    node = root
    for key in keys:
        entry = _entry(node, key) if isinstance(node, yaml.MappingNode) else None
        if entry is None:
            return False
        node = entry[1]
    return True


def _description(kind: type[BaseModel], location: Location) -> str:
    field = _fields(kind, location[:-1]).get(str(location[-1])) if location else None
    return field.description or "" if field else ""


def _fields(kind: type[BaseModel], location: Location) -> dict[str, Any]:
    """The fields of the model at a location; none where there is no model."""
    return {name: field for model in _models_at(kind, location) for name, field in model.model_fields.items()}


def _models_at(kind: type[BaseModel], location: Location) -> list[type[BaseModel]]:
    """The models that may stand at a location: several, where a union's tag is not known."""
    models = [kind]
    for part in location:
        fields = {name: field for model in models for name, field in model.model_fields.items()}
        tagged = [model for model in models if part in _kinds(model)]
        if len(models) > 1 and tagged:  # a tag may be called like a field of another model of the union
            models = tagged
        elif str(part) in fields:
            models = _models(fields[str(part)].annotation)
    return models


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models that an annotation can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    inner = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return [model for part in inner for model in _models(part)]
