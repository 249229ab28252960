"""From a YAML file to a job, with errors that name file, line, field, what was found and what would be right."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from siloseal.federation.config.file_kinds import explain_wrong_kind
from siloseal.federation.config.mistakes import find_mistakes
from siloseal.federation.errors import ConfigError

C = TypeVar("C", bound=BaseModel)
_EXAMPLES = "`siloseal demo --print-config` prints a job, and the repository's configs/ has files of every kind"


def load_config(kind: type[C], path: Path) -> C:
    """The file as a config of this kind, or `ConfigError` with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # text that is not UTF-8 or a path with a NUL byte, besides
        raise ConfigError(f"{path}: cannot be read ({error}); give the path of a YAML file") from error
    return parse_config(kind, text, name=str(path))


def top_level_keys(path: Path) -> frozenset[str]:
    """The keys of the file's first level; none where it cannot be read, which `load_config` explains."""
    try:
        found = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError, ValueError, RecursionError):
        return frozenset()
    return frozenset(map(str, found)) if isinstance(found, dict) else frozenset()


def check_values(kind: type[C], values: Mapping[str, object]) -> C:
    """Values that stand in no file as a config of this kind; errors name no line. `yaml.YAMLError` if YAML has none."""
    root = yaml.compose(yaml.safe_dump(values), Loader=yaml.SafeLoader)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(mistake.words for mistake in find_mistakes(kind, root, error))) from None


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
        raise ConfigError(f"{name}: the file is empty, expected `key: value` lines; {_EXAMPLES}")
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{name}:1: found {type(values).__name__}, expected `key: value` lines; {_EXAMPLES}")
    if doubles:
        raise ConfigError("\n".join(f"{name}:{line}: {key} stands here twice; keep one" for key, line in doubles))
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        if wrong_kind := explain_wrong_kind(values, kind.model_fields, name=name):
            raise ConfigError(wrong_kind) from None
        found = find_mistakes(kind, root, error)
        raise ConfigError("\n".join(f"{name}:{mistake.line}: {mistake.words}" for mistake in found)) from None


def to_yaml(config: BaseModel) -> str:
    """The resolved config, every default written out."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


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
