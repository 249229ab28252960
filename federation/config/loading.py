"""From a YAML file to a job, with errors that name file, line, field, what was found and what would be right."""

import difflib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from siloseal.federation.config.fields import Name
from siloseal.federation.errors import ConfigError
from siloseal.federation.transport.config import Host

C = TypeVar("C", bound=BaseModel)
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


def load_config(kind: type[C], path: Path) -> C:
    """The file as a config of this kind, or `ConfigError` with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); give the path of a YAML file") from error
    return parse_config(kind, text, name=str(path))


def top_level_keys(path: Path) -> frozenset[str]:
    """The keys of the file's first level; none where it cannot be read, which `load_config` explains."""
    try:
        found = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError, ValueError, RecursionError):
        return frozenset()
    return frozenset(map(str, found)) if isinstance(found, dict) else frozenset()


def parse_config(kind: type[C], text: str, *, name: str) -> C:
    """The text as a config of this kind; `name` stands for it in errors."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
        doubles = [] if root is None else list(_doubled_keys(root))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{name}:{line}: not valid YAML: {error.problem}; check indentation and quotes") from error
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply, or a part holds itself; write it out flat") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{name}: not valid YAML: {error}; save it as plain UTF-8 text") from error
    if root is None:
        raise ConfigError(f"{name}: the file is empty, expected `key: value` lines; copy one from configs/")
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{name}:1: found {type(values).__name__}, expected `key: value` lines; see configs/")
    if doubles:
        raise ConfigError("\n".join(f"{name}:{line}: {key} stands here twice; keep one" for key, line in doubles))
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        found = error.errors()
        # A list whose entries are all refused also counts as too short, which would only confuse.
        own = [one for one in found if one["type"] != "too_short" or not any(_within(other, one) for other in found)]
        mistakes = [_explain(kind, root, name, details) for details in own]
        raise ConfigError("\n".join(mistakes)) from error


def _within(one: ErrorDetails, other: ErrorDetails) -> bool:
    """Whether one mistake lies inside the other's place."""
    return len(one["loc"]) > len(other["loc"]) and one["loc"][: len(other["loc"])] == other["loc"]


def to_yaml(config: BaseModel) -> str:
    """The resolved config, every default written out."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _explain(kind: type[BaseModel], root: yaml.Node, name: str, details: ErrorDetails) -> str:
    keys, line = _place(root, details["loc"])
    field = ".".join(str(key) for key in keys) or "the file"
    if details["type"] == "missing":
        wanted = _description(kind, details["loc"])
        return f"{name}:{line}: {field} is missing; add it{f' ({wanted})' if wanted else ''}"
    if details["type"] == "extra_forbidden":
        known = sorted(_fields(kind, details["loc"][:-1]))
        close = difflib.get_close_matches(str(details["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
        return f"{name}:{line}: {field} is not a known key; {hint}"
    if details["type"].startswith("union_tag"):
        tags = [tag for model in _models_at(kind, details["loc"]) for tag in _kinds(model)]
        found = details.get("ctx", {}).get("tag", "no `kind`")
        close = [f"; did you mean {tag}?" for tag in difflib.get_close_matches(found, tags, n=1)]
        expected = ", ".join(map(repr, tags)) + "".join(close)
        return f"{name}:{line}: {field}: found {found}, expected `kind:` to be one of {expected}"
    if details["type"] == "value_error":
        # A check over several fields has no place of its own; its message begins with the field that it is about.
        about = details["msg"].removeprefix("Value error, ").split(" ")[0].split(".")
        if not keys and _entry_at(root, about):
            _, line = _place(root, tuple(about))
            return f"{name}:{line}: {details['msg'].removeprefix('Value error, ')}"
        return f"{name}:{line}: {field}: {details['msg'].removeprefix('Value error, ')}"
    wanted = _description(kind, details["loc"])
    expected = _expected(details)
    found = textwrap.shorten(repr(details["input"]), 120)
    return f"{name}:{line}: {field}: found {found}; {expected}{f' ({wanted})' if wanted else ''}"


def _expected(details: ErrorDetails) -> str:
    if details["type"] == "string_pattern_mismatch":
        pattern = details["ctx"]["pattern"]
        if digits := re.fullmatch(r"\^\[0-9a-f\]\{(\d+)\}\$", pattern):
            return f"expected {digits[1]} hexadecimal digits, 0-9 and a-f"
        return f"expected {_PATTERNS.get(pattern, f'a text that matches {pattern}')}"
    return _EXPECTED.get(details["type"]) or details["msg"][0].lower() + details["msg"][1:]


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


def _doubled_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen = set[str]()
        for key, value in node.value:
            if key.value in seen:
                yield key.value, key.start_mark.line + 1
            seen.add(key.value)
            yield from _doubled_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _doubled_keys(value)


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
