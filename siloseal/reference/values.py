"""What a field of a JSON schema accepts, in words."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_WORDS = {"string": "text", "boolean": "`true` or `false`", "object": "mapping", "integer": "whole number"}


def members(field: Schema) -> list[str]:
    """Names of the models that a field holds; none for plain values."""
    if "$ref" in field:
        return [field["$ref"].rsplit("/", 1)[-1]]
    inner = [*field.get("oneOf", ()), *field.get("anyOf", ()), *filter(None, [field.get("items")])]
    if isinstance(field.get("additionalProperties"), Mapping):
        inner.append(field["additionalProperties"])
    return [name for part in inner for name in members(part)]


def value_text(field: Schema, link: str) -> str:
    """What may stand behind the key; `link` is the anchor of the section that describes it."""
    if "anyOf" in field:
        parts = [value_text(part, link) for part in field["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(parts))
    if "prefixItems" in field:
        return f"list of {len(field['prefixItems'])}: {_listed_values(field['prefixItems'], link)}"
    if field.get("type") == "array":
        inner = value_text(field["items"], link) if "items" in field else "values"
        return f"list of {inner}"
    if "oneOf" in field:
        return f"[section](#{link}) of kind {_listed(sorted(field['discriminator']['mapping']))}"
    if "$ref" in field:
        return f"[section](#{link})"
    if "enum" in field:
        return " or ".join(f"`{choice}`" for choice in field["enum"])
    if field.get("format") == "path":
        return "path"
    if field.get("type") == "object" and members(field):
        return f"mapping to [sections](#{link})"
    name = str(field.get("type", "value"))
    return _WORDS.get(name, name) + _bounds(field)


def default_text(field: Schema) -> str:
    """The default as it would stand in the file; a section's own defaults are in its table."""
    default = field.get("default")
    if isinstance(default, dict):
        return f"`{{kind: {default['kind']}}}`" if "kind" in default else "the section's own"
    return "" if default is None else f"`{json.dumps(default, ensure_ascii=False).strip(chr(34))}`"


def _listed_values(fields: Sequence[Schema], link: str) -> str:
    return ", ".join(value_text(field, link) for field in fields)


def _listed(kinds: list[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


def _bounds(field: Schema) -> str:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    found = [f"{word} {_number(field[key])}" for key, word in words.items() if key in field]
    return f", {', '.join(found)}" if found else ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"
